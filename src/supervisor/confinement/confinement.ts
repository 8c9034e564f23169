/**
 * How the processes of runs are held: by cgroup v2 or, where there is none to use, by a variable in their environment. types.ts is the
 * contract: limit, list, signal, kill, freeze, measure. cgroups.ts and markers.ts fulfill it.
 *
 * This file finds the confinement of a run: the one it was started under, for as long as it lives.
 *
 * A run stays where it is when the agent comes back with another root (`--cgroup-root`, a new scope), with cgroups where it had
 * none, or without those it had. The agent observes, stops, thaws, measures and removes the run there, and sets as many of its
 * caps as that place supports. New runs go to the current confinement.
 *
 * Guarantees: the leaf of a run comes from a file, so it is trusted only if it is exactly `<root>/<app>/<run>` in a cgroup v2
 * file system and names this run and its app. A run with any other leaf is found by its marker: nothing is written or killed
 * anywhere else.
 */
import { dirname, join } from "node:path";
import { type NodeSize, recallRoot } from "../../../cgroups/mod.ts";
import { createCgroupConfinement } from "./cgroups.ts";
import type { Confinement } from "./types.ts";
import type { RunRef } from "../types.ts";
import { createMarkerConfinement } from "./markers.ts";
import { isRunId } from "../run-ref.ts";

export { capsOf, describeCaps, hasCaps } from "./caps.ts";
export { createCgroupConfinement } from "./cgroups.ts";
export { createMarkerConfinement } from "./markers.ts";
export type { Caps, CapsState, Confinement, Usage } from "./types.ts";
export type { RunRef } from "../types.ts";

export interface NodeConfinementOptions {
  /** Holds new runs, and those whose leaf is not known. */
  current: Confinement;
  /** Holds runs without a cgroup. */
  markers?: Confinement;
  size: NodeSize;
  recall?: typeof recallRoot;
}

/**
 * Returns the confinement of a node: new runs go to the current one, and what concerns a run goes to the one that holds it, by its leaf.
 * Confinements below other roots are created when a run needs one.
 */
export function createNodeConfinement(
  { current, markers = createMarkerConfinement(withoutCgroups), size, recall = recallRoot }:
    NodeConfinementOptions,
): Confinement {
  const elsewhere = new Map<string, Confinement>();

  const below = (root: string): Confinement => {
    const known = elsewhere.get(root);
    const located = known ? undefined : recall(root);
    if (!located) return known ?? markers;
    const whyNoLimits =
      `the app was started below ${root}, which lacks the controllers: restart it to move it`;
    const confinement = createCgroupConfinement({ root: located, size, whyNoLimits, isFormer: true });
    elsewhere.set(root, confinement);
    return confinement;
  };

  const holderOf = (run: RunRef): Confinement => {
    if (run.leaf === undefined) return current;
    const root = rootOf(run);
    if (root === undefined) return markers;
    return run.leaf === current.leafOf(run) ? current : below(root);
  };

  return {
    ...current,
    ensureCaps: (run, caps) => holderOf(run).ensureCaps(run, caps),
    processes: (run) => holderOf(run).processes(run),
    signal: (run, name) => holderOf(run).signal(run, name),
    kill: (run) => holderOf(run).kill(run),
    thaw: (run) => holderOf(run).thaw(run),
    onEmpty: (run, callback) => holderOf(run).onEmpty(run, callback),
    usage: (run) => holderOf(run).usage(run),
    kills: (run) => holderOf(run).kills(run),
    removeRun: (run) => holderOf(run).removeRun(run),
  };
}

const withoutCgroups = "the app was started without cgroups: restart it to have its caps enforced";

/** The root that a run is below; undefined if its leaf cannot be that of this run. */
function rootOf({ folder, runId, leaf = "" }: RunRef): string | undefined {
  const root = dirname(dirname(leaf));
  const fits = isRunId(runId) && folder !== "" && leaf === join("/", root, folder, runId);
  return fits ? root : undefined;
}
