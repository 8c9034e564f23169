/**
 * Where the processes of apps live and how they are held: the one interface that the supervisor needs of the kernel.
 * Two implementations stand behind it and pass one contract test: cgroups (limits, exact membership) and markers in the
 * environment (no limits, for machines without a usable cgroup v2). confinement.ts chooses between them for each run.
 */
import type { RunRef } from "../types.ts";

/** The caps of an app as numbers; undefined means no cap. */
export interface Caps {
  cpuPCT?: number;
  memPCT?: number;
  pidsMax?: number;
  oomPolicy: "Group" | "Process";
}

/** Whether the caps hold. `enforced: false` carries the reason and message of the LimitsEnforced condition. */
export type CapsState = { enforced: true } | {
  enforced: false;
  reason: "ResizePending" | "LimitsUnavailable";
  message: string;
};

/** A reading of the kernel's counters for one app. */
export interface Usage {
  /** Which counters were read: runs that share a cgroup share them. */
  counters?: string;
  cpuSeconds: number;
  throttledSeconds: number;
  memoryBytes: number;
  memoryPeakBytes?: number;
  processes: number;
  oomKills: number;
}

export interface Confinement {
  /** Empty where caps can be enforced, else the exact cause why not. */
  readonly whyNoLimits: string;
  /** Makes the place for a run and sets the caps. The launcher gets both folders; "" means that there is none. */
  prepare(run: RunRef, caps: Caps): Promise<{ keeper: string; leaf: string; caps: CapsState }>;
  /** The folder that `prepare` makes for a run; "" where it makes none. */
  leafOf(run: RunRef): string;
  /** Sets the caps of the app that the run is of again where they differ. */
  ensureCaps(run: RunRef, caps: Caps): Promise<CapsState>;
  /** Living processes of a run; none only if there surely is none. Without cgroups it may be some of them. */
  processes(run: RunRef): Promise<number[]>;
  /** SIGTERM to every process of the run. */
  terminate(run: RunRef): Promise<void>;
  /** Ends every process of the run at once, forks in flight included. */
  kill(run: RunRef): Promise<void>;
  /** Undoes a freeze that a crash left behind. */
  thaw(run: RunRef): Promise<void>;
  /** Calls back once when no process of the run is left; the returned function ends the watch. */
  onEmpty(run: RunRef, callback: () => void): () => void;
  /** Undefined while there is nothing to measure. */
  usage(run: RunRef): Promise<Usage | undefined>;
  /** Removes what `prepare` made for the run; no process of it may be left. */
  removeRun(run: RunRef): Promise<void>;
  removeApp(folder: string): Promise<void>;
  /** The runs, by app folder, that have a place now: what an agent finds after a crash. */
  listRuns(): Promise<RunRef[]>;
}
