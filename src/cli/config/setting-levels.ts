/**
 * Merges levels of settings: the config file, over it the variables, over them the flags.
 *
 * Guarantees: a higher level wins, also over settings that exclude its own: `--standalone` discards the file's `kubeconfig:`, and
 * `--kubeconfig` discards `standalone:` and `server:`. So settings that exclude each other both survive only if they are at one
 * level; the caller refuses that.
 * A relative path starts at the folder of its level.
 */
import { delimiter, resolve } from "node:path";
import { UsageError } from "../command.ts";

export interface Level {
  values: Record<string, unknown>;
  /** Where relative paths start. Empty for the working folder, which is read only if a path needs it. */
  folder: string;
}

export interface Settings {
  text(name: string): string | undefined;
  /** The value as an absolute path; an empty one stays empty. */
  path(name: string): string | undefined;
  /** The value as a list of absolute paths, separated as in KUBECONFIG. */
  paths(name: string): string | undefined;
}

/** What a setting discards from the levels below it. */
const discards = new Map([
  ["standalone", ["kubeconfig", "server", "with-controller", "with-scheduler"]],
  // At one level, the two mean the credentials of the kubeconfig at the address of the server.
  ["kubeconfig", ["standalone", "server"]],
  ["server", ["standalone"]],
  ["with-controller", ["standalone"]],
  ["with-scheduler", ["standalone"]],
]);

/** Merges levels, the lowest first. */
export function mergeLevels(levels: readonly Level[]): Settings {
  const merged = new Map<string, { value: unknown; folder: string }>();
  for (const { values, folder } of levels) {
    const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
    const enabled = given.filter(([, value]) => value !== "" && value !== false && value !== "false");
    for (const name of enabled.flatMap(([name]) => discards.get(name) ?? [])) merged.delete(name);
    for (const [name, value] of given) merged.set(name, { value, folder });
  }
  const text = (name: string) => {
    const value = merged.get(name)?.value;
    if (typeof value === "object") throw new UsageError(`--${name}: must be one value, not a list or map`);
    return value === undefined ? undefined : String(value);
  };
  const absolute = (name: string, path: string) => path && resolve(merged.get(name)?.folder ?? "", path);
  return {
    text,
    path: (name) => {
      const path = text(name);
      return path && absolute(name, path);
    },
    paths: (name) => text(name)?.split(delimiter).map((path) => absolute(name, path)).join(delimiter),
  };
}
