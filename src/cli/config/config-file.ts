import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { loadAll, YAMLException } from "js-yaml";
import { closest } from "../../lib/closest.ts";
import { errorCode, explainFileError } from "../../lib/files.ts";
import { type FlagValues, UsageError } from "../command.ts";
import { defaultConfig, settingNames } from "./agent-flags.ts";
import type { Level } from "./setting-levels.ts";

/** Reads the config file. A named file must exist; the default one may be missing, or unreadable for this user. */
export async function readConfigFile(
  flags: FlagValues,
  env: Record<string, string | undefined>,
  read: (path: string) => Promise<string> = (path) => readFile(path, "utf8"),
): Promise<Level> {
  const named = flags.config ?? env.NCKUBELET_CONFIG;
  const path = typeof named === "string" ? named : defaultConfig;
  let text = "";
  try {
    text = await read(path);
    // An empty file, or one with comments only, has no document.
    const [content = {}] = loadAll(text).map((document) => document ?? {});
    if (typeof content !== "object" || Array.isArray(content)) {
      throw new UsageError(`${path}: not a map of settings`);
    }
    checkNames(path, Object.keys(content as object));
    return { values: content as Record<string, unknown>, folder: dirname(path) };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (named === undefined && ["ENOENT", "EACCES"].includes(errorCode(error))) {
      return { values: {}, folder: dirname(path) };
    }
    if (error instanceof YAMLException) {
      const { explainYAMLError } = await import("../../api/manifest/manifest.ts");
      const { problem, line } = explainYAMLError(error, text);
      throw new UsageError(`${path}:${line + 1}: not YAML: ${problem}`);
    }
    throw new UsageError(`--config ${path}: ${explainFileError(error)}`, { cause: error });
  }
}

function checkNames(path: string, found: string[]): void {
  const unknown = found.find((name) => !settingNames.includes(name));
  if (unknown === undefined) return;
  const near = closest(unknown, settingNames);
  throw new UsageError(
    `${path}: unknown setting ${JSON.stringify(unknown)}${near ? `; did you mean ${near}?` : ""}`,
  );
}
