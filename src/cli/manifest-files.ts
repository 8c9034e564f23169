import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { formatProblem, type ParsedManifests, parseManifests } from "../api/manifest.ts";
import { errorCode } from "../lib/files.ts";
import { type Invocation, listFlag, UsageError } from "./command.ts";

/** What one file holds. */
export interface ManifestFile {
  file: string;
  apps: ParsedManifests["apps"];
  /** Lines with file, line, app, field and value. */
  problems: string[];
}

/** Reads the files of -f and of the operands: manifests, folders of them, `-` for standard input. */
export async function readManifestFiles(
  invocation: Invocation,
  { namespace }: { namespace?: string } = {},
): Promise<ManifestFile[]> {
  const named = [...listFlag(invocation, "filename"), ...invocation.args];
  if (named.length === 0) throw new UsageError("no manifest is named: use -f FILE");
  const files = (await Promise.all(named.map(filesOf))).flat();
  return await Promise.all(files.map((file) => readOne(file, namespace)));
}

async function filesOf(path: string): Promise<string[]> {
  const isFolder = await stat(path).then((found) => found.isDirectory(), () => false);
  if (!isFolder) return [path];
  const names = (await readdir(path)).filter((name) => /^[^.].*\.(ya?ml|json)$/.test(name)).sort();
  return names.map((name) => join(path, name));
}

async function readOne(file: string, namespace: string | undefined): Promise<ManifestFile> {
  try {
    const isInput = file === "-";
    const text = await readFile(isInput ? "/dev/stdin" : file, "utf8");
    const baseDir = resolve(isInput ? "." : dirname(file));
    const { apps, problems } = parseManifests(text, isInput ? "standard input" : file, {
      baseDir,
      namespace,
    });
    const empty = apps.length + problems.length === 0 ? [`${file}: holds no manifest`] : [];
    return { file, apps, problems: [...problems.map(formatProblem), ...empty] };
  } catch (error) {
    const code = errorCode(error);
    return {
      file,
      apps: [],
      problems: [`${file}: ${code === "ENOENT" ? "no such file" : `cannot be read: ${code}`}`],
    };
  }
}
