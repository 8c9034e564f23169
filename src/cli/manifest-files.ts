import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import {
  formatProblem,
  type ParsedManifests,
  parseManifests,
  type ParseOptions,
  type ValueHolder,
} from "../api/manifest/manifest.ts";
import { explainPathError } from "../lib/files.ts";
import { type Flag, type Invocation, type Io, listFlag, UsageError } from "./command.ts";

export const filenameFlag: Flag = {
  list: true,
  short: "f",
  value: "FILE",
  help: "Manifest, folder of manifests, or - for standard input.",
};

export interface ManifestFile {
  file: string;
  apps: ParsedManifests["apps"];
  /** Keys of the NCAppSets, if they were to be checked. */
  sets: string[];
  /** The Secrets and ConfigMaps, if they were to be read. */
  holders: ValueHolder[];
  /** One line each, with file, line, app, field and value. */
  problems: string[];
  /** One line for each object of another kind, such as the Namespace of the apps. */
  skipped: string[];
}

/** Reads the files of -f and of the operands: manifests, folders of manifests, or `-` for standard input. */
export async function readManifestFiles(
  invocation: Invocation,
  io: Pick<Io, "stdin">,
  options: Pick<ParseOptions, "namespace" | "checkSets" | "takeHolders"> = {},
): Promise<ManifestFile[]> {
  const named = [...listFlag(invocation, "filename"), ...invocation.args];
  if (named.length === 0) throw new UsageError("no manifest is named: use -f FILE");
  const url = named.find((path) => /^https?:\/\//.test(path));
  if (url !== undefined) {
    throw new UsageError(
      `${url}: manifests are read from files; use curl -fsSL ${url}, and -f - to read its output`,
    );
  }
  if (named.filter(isInput).length > 1) {
    throw new UsageError("standard input can be read only once: use - only once");
  }
  const read = named.map(async (path) => {
    const files = await filesOf(path);
    return files.length > 0
      ? await Promise.all(files.map((file) => readOne(file, io, options)))
      : [problemOf(path, "the folder has no manifest (*.yaml, *.yml or *.json)")];
  });
  return (await Promise.all(read)).flat();
}

function isInput(path: string): boolean {
  return path === "-";
}

async function filesOf(path: string): Promise<string[]> {
  if (isInput(path)) return [path];
  const isFolder = await stat(path).then((found) => found.isDirectory(), () => false);
  if (!isFolder) return [path];
  const names = (await readdir(path)).filter((name) => /^[^.].*\.(ya?ml|json)$/.test(name)).sort();
  return names.map((name) => join(path, name));
}

async function readOne(
  file: string,
  io: Pick<Io, "stdin">,
  options: Pick<ParseOptions, "namespace" | "checkSets" | "takeHolders">,
): Promise<ManifestFile> {
  try {
    const text = isInput(file) ? await readInput(io) : await readFile(file, "utf8");
    const { apps, sets, holders, problems, skipped } = parseManifests(
      text,
      isInput(file) ? "standard input" : file,
      {
        baseDir: resolve(isInput(file) ? "." : dirname(file)),
        ...options,
      },
    );
    const empty = apps.length + sets.length + holders.length + problems.length + skipped.length === 0
      ? [`${file}: contains no manifest`]
      : [];
    return {
      file,
      apps,
      sets,
      holders: holders.map(({ holder }) => holder),
      problems: [...problems.map(formatProblem), ...empty],
      skipped: skipped.map(formatProblem),
    };
  } catch (error) {
    return problemOf(file, await explainPathError(file, error));
  }
}

function problemOf(file: string, problem: string): ManifestFile {
  return { file, apps: [], sets: [], holders: [], problems: [`${file}: ${problem}`], skipped: [] };
}

/** Reads the open descriptor. Opening /dev/stdin again would fail for sockets and for files of other users. */
async function readInput({ stdin }: Pick<Io, "stdin">): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stdin?.() ?? []) text += decoder.decode(bytes, { stream: true });
  return text + decoder.decode();
}
