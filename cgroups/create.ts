/** Creates the folders of the tree: `<root>/<app>/<run>`. */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { CgroupError, errnoOf } from "./error.ts";
import { checkName } from "./name.ts";

/** Returns the cgroup of an app, which has the limits; creates it if missing. */
export function openApp(root: string, name: string): string {
  return openChild(root, name);
}

/** Returns the leaf of one run, which has its processes; creates it if missing. */
export function openRun(appDir: string, runId: string): string {
  return openChild(appDir, runId);
}

/** Creates one cgroup below an existing one. False if it exists already. */
export function createCgroup(dir: string): boolean {
  try {
    mkdirSync(dir);
    return true;
  } catch (cause) {
    if (errnoOf(cause) === "EEXIST" && statSync(dir).isDirectory()) return false;
    throw new CgroupError(`cannot create the cgroup ${dir}`, { path: dir, cause });
  }
}

function openChild(parent: string, name: string): string {
  const dir = join(parent, checkName(name));
  createCgroup(dir);
  return dir;
}
