/** Making the folders of the tree: `<root>/<app>/<run>`. */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { CgroupError, errnoOf } from "./error.ts";
import { checkName } from "./name.ts";

/** The cgroup of an app, made if it is not there yet. It holds the limits. */
export function openApp(root: string, name: string): string {
  return openChild(root, name);
}

/** The leaf of one run of an app, made if it is not there yet. The processes of the run live in it. */
export function openRun(appDir: string, runId: string): string {
  return openChild(appDir, runId);
}

/** Makes one cgroup below an existing one. False when it was there already. */
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
