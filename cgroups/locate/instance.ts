/**
 * Several agents on one machine, each with its own root below the located one.
 *
 * Guarantee: an instance changes only what is below its own folder, and a release removes only empty cgroups.
 */
import { rmdirSync } from "node:fs";
import { createCgroup } from "../create.ts";
import { errnoOf } from "../error.ts";
import { waitUntilEmpty } from "../events.ts";
import { kill } from "../kill.ts";
import type { LocatedRoot } from "./locate.ts";
import type { LocateFailure } from "./mounts.ts";
import { checkName, KEEPER } from "../name.ts";
import { listChildren } from "../processes.ts";
import { enableControllers } from "./prepare.ts";

const exitTimeoutMs = 2000;

/** Creates a root for one instance below a located one, with the same controllers and its own keeper leaf. */
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
 * Releases a located root, and the caller's instance below it. A cgroup with an app or a launcher stays, and so does a root that other
 * instances use, or that was configured or delegated.
 */
export async function releaseRoot({ root, keeper, how }: LocatedRoot, instance?: LocatedRoot): Promise<void> {
  if (instance && instance.root !== root) {
    // The launchers of the last apps may still be exiting.
    await waitUntilEmpty(instance.keeper, { timeoutMs: exitTimeoutMs });
    removeStoppedApps(instance.root);
    removeEmpty(instance.keeper) && removeEmpty(instance.root);
  }
  if (how === "systemd-scope" || how === "plain") removeStoppedApps(root);
  if (listChildren(root).some((name) => name !== KEEPER) || how === "override" || how === "delegated") return;
  if (how === "systemd-scope") {
    // Only the keeper of the scope remains: the scope ends with it.
    await kill(keeper);
    await waitUntilEmpty(keeper, { timeoutMs: exitTimeoutMs });
  }
  removeEmpty(keeper) && removeEmpty(root);
}

/** Removes the cgroups of apps that do not run: they are kept while an agent manages them. */
function removeStoppedApps(root: string): void {
  for (const name of listChildren(root)) if (name !== KEEPER) removeEmpty(`${root}/${name}`);
}

/** Removes a cgroup if it has neither processes nor children: the kernel removes no other. */
function removeEmpty(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch (error) {
    return errnoOf(error) === "ENOENT";
  }
}
