/** Creates the folders of the tree: `<root>/<app>/<run>`. */
import { mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { CgroupError, errnoOf } from "./error.ts";
import { readTextIfAny } from "./file.ts";
import { checkName } from "./name.ts";

/** Returns the cgroup of an app, which has the limits, or below it the leaf of a run, which has its processes. Creates it if missing. */
export function openCgroup(parent: string, name: string): string {
  const dir = join(parent, checkName(name));
  createCgroup(dir);
  return dir;
}

/** Creates one cgroup below an existing one. False if it exists already. */
export function createCgroup(dir: string): boolean {
  try {
    mkdirSync(dir);
    return true;
  } catch (cause) {
    if (errnoOf(cause) === "EEXIST" && statSync(dir).isDirectory()) return false;
    const limit = errnoOf(cause) === "EAGAIN" ? reachedLimit(dirname(dir)) : undefined;
    if (limit) {
      throw new CgroupError(`cannot create the cgroup ${dir}: ${limit}`, { code: "EAGAIN" });
    }
    throw new CgroupError(`cannot create the cgroup ${dir}`, { cause });
  }
}

/** Which cgroup from `dir` upward allows no more cgroups below it, and what to do. */
export function reachedLimit(dir: string): string | undefined {
  for (let at = dir, depth = 1; at !== dirname(at); at = dirname(at), depth++) {
    const read = (file: string) => Number(readTextIfAny(at, file) ?? "max");
    const count = Number(/^nr_descendants (\d+)$/m.exec(readTextIfAny(at, "cgroup.stat") ?? "")?.[1] ?? 0);
    const limits = [["cgroup.max.descendants", count], ["cgroup.max.depth", depth - 1]] as const;
    const reached = limits.find(([file, used]) => used >= read(file));
    if (reached) {
      const [file] = reached;
      return `${at}/${file} allows no more than ${read(file)}: write a higher number or "max" to it`;
    }
  }
  return undefined;
}
