import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { readTextIfAny } from "../file.ts";
import type { LocatedRoot } from "./locate.ts";
import { findMount } from "./mounts.ts";
import { KEEPER } from "../name.ts";

/**
 * Returns the root at a recorded path; undefined unless that is a normalized path in a cgroup v2 file system, so that no other
 * folder is ever taken for a cgroup. It creates and enables nothing, and the root may be gone.
 */
export function recallRoot(root: string, { procRoot = "/proc" } = {}): LocatedRoot | undefined {
  if (resolve(root) !== root) return undefined;
  const found = findMount(readFileSync(`${procRoot}/self/mountinfo`, "utf8"), { sysRoot: root, under: root });
  if (!found.ok) return undefined;
  const controllers = (readTextIfAny(root, "cgroup.subtree_control") ?? "").split(" ").filter(Boolean);
  return { ok: true, root, how: "override", controllers, keeper: `${root}/${KEEPER}` };
}
