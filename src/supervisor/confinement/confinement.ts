/**
 * The one place that decides by which confinement a run is held: the one that it was begun under, for as long as it lives.
 *
 * A run stays where it is when the agent comes back with another root (`--cgroup-root`, a new scope), with cgroups where it had
 * none, or without those it had. There it is seen, ended, thawed, measured and removed, and its caps are set as far as that
 * place lets them be; new runs go to the present confinement.
 *
 * A place is read from a disk, and so it is believed only if it is exactly `<root>/<app>/<run>` in a cgroup v2 file system, by the
 * name of a run and of its app. A run whose place is none is looked for by its marker: nothing is written or killed anywhere else.
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

export interface RunPlacesOptions {
  /** Holds new runs. */
  present: Confinement;
  /** Holds runs without a cgroup. */
  markers?: Confinement;
  size: NodeSize;
  recall?: typeof recallRoot;
}

/** A confinement for runs wherever they are. */
export function createRunPlaces(
  { present, markers = createMarkerConfinement(unheld), size, recall = recallRoot }: RunPlacesOptions,
): Confinement {
  const elsewhere = new Map<string, Confinement>();

  const below = (root: string): Confinement => {
    const known = elsewhere.get(root);
    const located = known ? undefined : recall(root);
    if (!located) return known ?? markers;
    const whyNoLimits =
      `the app was started below ${root}, which lacks the controllers: restart it to move it`;
    const confinement = createCgroupConfinement({ root: located, size, whyNoLimits });
    elsewhere.set(root, confinement);
    return confinement;
  };

  const of = (run: RunRef): Confinement => {
    if (run.leaf === undefined) return present;
    const root = rootOf(run);
    if (root === undefined) return markers;
    return run.leaf === present.leafOf(run) ? present : below(root);
  };

  return {
    whyNoLimits: present.whyNoLimits,
    prepare: (run, caps) => present.prepare(run, caps),
    leafOf: (run) => present.leafOf(run),
    ensureCaps: (run, caps) => of(run).ensureCaps(run, caps),
    processes: (run) => of(run).processes(run),
    terminate: (run) => of(run).terminate(run),
    kill: (run) => of(run).kill(run),
    thaw: (run) => of(run).thaw(run),
    onEmpty: (run, callback) => of(run).onEmpty(run, callback),
    usage: (run) => of(run).usage(run),
    removeRun: (run) => of(run).removeRun(run),
    removeApp: (folder) => present.removeApp(folder),
    listRuns: () => present.listRuns(),
  };
}

const unheld = "the app was started without cgroups: restart it to have its caps enforced";

/** The root that a run is below, if its leaf can be that of this run; undefined otherwise. */
function rootOf({ folder, runId, leaf = "" }: RunRef): string | undefined {
  const root = dirname(dirname(leaf));
  const fits = isRunId(runId) && folder !== "" && leaf === join("/", root, folder, runId);
  return fits ? root : undefined;
}
