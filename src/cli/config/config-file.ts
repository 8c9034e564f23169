import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { loadAll } from "js-yaml";
import { closest } from "../../lib/closest.ts";
import { errorCode } from "../../lib/files.ts";
import { type FlagValues, UsageError } from "../command.ts";
import type { Level } from "./setting-levels.ts";

/** Where settings are looked for if no file is named. */
export const defaultConfig = "/etc/nckubelet/config.yaml";

export interface ConfigFileOptions {
  flags: FlagValues;
  env: Record<string, string | undefined>;
  /** The settings that a file may have. */
  names: string[];
  read?: (path: string) => Promise<string>;
}

/** The settings of the config file. One that is named must be there; the usual one may be missing, or not for us to read. */
export async function readConfigFile(
  { flags, env, names, read = (path) => readFile(path, "utf8") }: ConfigFileOptions,
): Promise<Level> {
  const named = flags.config ?? env.NCKUBELET_CONFIG;
  const path = typeof named === "string" ? named : defaultConfig;
  try {
    // An empty file, or one of comments alone, is no document.
    const [content = {}] = loadAll(await read(path)).map((document) => document ?? {});
    if (typeof content !== "object" || Array.isArray(content)) {
      throw new UsageError(`${path}: not a list of settings`);
    }
    checkNames(path, Object.keys(content as object), names);
    return { values: content as Record<string, unknown>, folder: dirname(path) };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (named === undefined && ["ENOENT", "EACCES"].includes(errorCode(error))) {
      return { values: {}, folder: dirname(path) };
    }
    throw new UsageError(`--config ${path}: ${errorCode(error)}`, { cause: error });
  }
}

function checkNames(path: string, found: string[], names: string[]): void {
  const unknown = found.find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const near = closest(unknown, names);
  throw new UsageError(
    `${path}: unknown setting ${JSON.stringify(unknown)}${near ? `; did you mean ${near}?` : ""}`,
  );
}
