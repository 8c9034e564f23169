/**
 * Several agents on one machine, each with a root of its own below the one that was located.
 *
 * Guarantee: an instance touches only what is below its own folder; what is given back is removed only where it is empty.
 */
import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { createCgroup } from "../create.ts";
import { errnoOf } from "../error.ts";
import { kill } from "../kill.ts";
import type { LocatedRoot } from "./locate.ts";
import type { LocateFailure } from "./mounts.ts";
import { checkName, KEEPER } from "../name.ts";
import { enableControllers } from "./prepare.ts";
import { waitUntilEmpty } from "../wait.ts";

const leavingMs = 2000;

/** A root for one instance below a located one, with the same controllers and a keeper leaf of its own, or why not. */
export function openInstance(located: LocatedRoot, name: string): LocatedRoot | LocateFailure {
  const root = `${located.root}/${checkName(name)}`;
  const keeper = `${root}/${KEEPER}`;
  createCgroup(root);
  const failure = enableControllers(root, located.controllers);
  if (failure) return failure;
  createCgroup(keeper);
  return { ...located, root, keeper };
}

/**
 * Gives a located root back, with the one instance below it that is the caller's. What has an app or a launcher in it stays as it
 * is, and so does a root that other instances use, or that was given or delegated.
 */
export async function releaseRoot({ root, keeper, how }: LocatedRoot, instance?: LocatedRoot): Promise<void> {
  if (instance && instance.root !== root) {
    // The launchers of the last apps may still be on their way out.
    await waitUntilEmpty(instance.keeper, { timeoutMs: leavingMs });
    removeEmpty(instance.keeper) && removeEmpty(instance.root);
  }
  if (children(root).some((name) => name !== KEEPER) || how === "override" || how === "delegated") return;
  if (how === "systemd-scope") {
    // Nothing but the scope's own keeper is left: the scope ends with it.
    await kill(keeper);
    await waitUntilEmpty(keeper, { timeoutMs: leavingMs });
  }
  removeEmpty(keeper) && removeEmpty(root);
}

function children(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) =>
    name
  );
}

/** The kernel removes a cgroup only where it has neither processes nor children. */
function removeEmpty(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch (error) {
    return errnoOf(error) === "ENOENT";
  }
}
