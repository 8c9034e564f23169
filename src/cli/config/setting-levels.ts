/**
 * Levels of settings, laid one over the other: the config file, over it the variables, over them the flags.
 *
 * Guarantees: a higher level wins, also over what it excludes: `--standalone` leaves no `kubeconfig:` of the file in force, and
 * `--kubeconfig` no `standalone:` or `server:`. So two settings that exclude each other are both in force only where one level has
 * both, which is for the caller to refuse.
 * A relative path starts at the folder of the level that has it.
 */
import { resolve } from "node:path";
import { UsageError } from "../command.ts";

export interface Level {
  values: Record<string, unknown>;
  /** Where its relative paths start; empty: the working folder, which is asked for only where a path needs it. */
  folder: string;
}

export interface Settings {
  /** The value as text; undefined where no level has one. */
  text(name: string): string | undefined;
  /** The value as an absolute path; an empty one stays empty. */
  path(name: string): string | undefined;
}

/** What a setting that is wanted puts out of force at the levels below. */
const excluded = new Map([
  ["standalone", ["kubeconfig", "server", "with-scheduler"]],
  // Both at one level are the credentials of the one at the address of the other.
  ["kubeconfig", ["standalone", "server"]],
  ["server", ["standalone"]],
  ["with-scheduler", ["standalone"]],
]);

/** The settings that are in force; the lowest level comes first. */
export function layOver(levels: readonly Level[]): Settings {
  const inForce = new Map<string, { value: unknown; folder: string }>();
  for (const { values, folder } of levels) {
    const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
    const wanted = given.filter(([, value]) => value !== "" && value !== false && value !== "false");
    for (const name of wanted.flatMap(([name]) => excluded.get(name) ?? [])) inForce.delete(name);
    for (const [name, value] of given) inForce.set(name, { value, folder });
  }
  const text = (name: string) => {
    const value = inForce.get(name)?.value;
    if (typeof value === "object") throw new UsageError(`--${name}: a list or map is not one value`);
    return value === undefined ? undefined : String(value);
  };
  return {
    text,
    path: (name) => {
      const path = text(name);
      return path && resolve(inForce.get(name)?.folder ?? "", path);
    },
  };
}
