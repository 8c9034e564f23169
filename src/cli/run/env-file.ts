/** The variables of `run --env-file`, as docker compose and systemd read them. */
import { readFile } from "node:fs/promises";
import type { EnvVar } from "../../api/types.ts";
import { parseEnvFile } from "../../api/env-file.ts";
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
    found.push(...parseVariables(text, path, env));
  }
  return found;
}

/**
 * Parses the text. As with docker, a name alone takes the value of the environment, if it is set there. Any other line that is no
 * assignment is a UsageError with its number, but without its text, which may be a secret.
 */
export function parseVariables(
  text: string,
  path: string,
  env: Record<string, string | undefined>,
): EnvVar[] {
  try {
    const { variables, others } = parseEnvFile(text);
    const known = others.flatMap(({ line, text }): EnvVar[] => {
      const [, name] = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)$/.exec(text) ?? [];
      if (name === undefined) throw new Error(`line ${line}: use NAME=VALUE, or # for a comment`);
      const value = ownValue(env, name);
      return value === undefined ? [] : [{ name, value }];
    });
    return [...known, ...variables.map(([name, value]) => ({ name, value }))];
  } catch (cause) {
    throw new UsageError(`--env-file ${path}: ${(cause as Error).message}`, { cause });
  }
}
