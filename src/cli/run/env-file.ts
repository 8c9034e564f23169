/** Files of variables, as docker and systemd read them: `NAME=VALUE` lines, comments with `#`. */
import { readFile } from "node:fs/promises";
import type { EnvVar } from "../../api/types.ts";
import { explainFileError } from "../../lib/files.ts";
import { ownValue } from "../../lib/objects.ts";
import { UsageError } from "../command.ts";

/** Reads the files in order; of two values of a name, the last counts. */
export async function readEnvFiles(
  paths: string[],
  env: Record<string, string | undefined>,
): Promise<EnvVar[]> {
  const found: EnvVar[] = [];
  for (const path of paths) {
    const text = await readFile(path, "utf8").catch((cause) => {
      throw new UsageError(`--env-file ${path}: ${explainFileError(cause)}`, { cause });
    });
    found.push(...parseEnvFile(text, path, env));
  }
  return found;
}

/**
 * Parses the lines. A name alone takes the value of the environment, if it is set there. A value may be in quotes, which are
 * removed; nothing in it is expanded. A line that is neither is a UsageError with its number, but without its text, which may be a secret.
 */
export function parseEnvFile(
  text: string,
  path: string,
  env: Record<string, string | undefined>,
): EnvVar[] {
  return text.replace(/^\uFEFF/, "").split(/\r?\n/).flatMap((line, index): EnvVar[] => {
    if (/^\s*(#|$)/.test(line)) return [];
    const [, name = "", , value] = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*(=(.*))?$/.exec(line) ?? [];
    if (name === "") {
      throw new UsageError(`--env-file ${path}:${index + 1}: use NAME=VALUE, or # for a comment`);
    }
    if (value !== undefined) return [{ name, value: unquote(value.trim()) }];
    const known = ownValue(env, name);
    return known === undefined ? [] : [{ name, value: known }];
  });
}

function unquote(value: string): string {
  return /^(["'])(.*)\1$/.exec(value)?.[2] ?? value;
}
