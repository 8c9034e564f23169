/** A root that was used before, known by its path alone. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { readTextIfAny } from "../file.ts";
import type { LocatedRoot } from "./locate.ts";
import { findMount } from "./mounts.ts";
import { KEEPER } from "../name.ts";

/**
 * The root at a path that somebody wrote down; undefined unless that is the plain path of a place in a cgroup v2 file system, so
 * that nothing else is ever taken for cgroups. It is only looked at: nothing is made or enabled, and it may be gone.
 */
export function recallRoot(root: string, { procRoot = "/proc" } = {}): LocatedRoot | undefined {
  if (resolve(root) !== root) return undefined;
  const found = findMount(readFileSync(`${procRoot}/self/mountinfo`, "utf8"), { sysRoot: root, under: root });
  if (!found.ok) return undefined;
  const controllers = (readTextIfAny(root, "cgroup.subtree_control") ?? "").split(" ").filter(Boolean);
  return { ok: true, root, how: "override", controllers, keeper: `${root}/${KEEPER}` };
}
