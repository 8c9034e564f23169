/**
 * How the processes of apps are held: the only interface between the supervisor and the kernel.
 * Two implementations pass one contract test: cgroups (limits, exact membership) and markers in the
 * environment (no limits, for machines without a usable cgroup v2). confinement.ts chooses between them for each run.
 */
import type { KillCounts, RunRef } from "../types.ts";

/** The caps of an app as numbers; undefined means no cap. */
export interface Caps {
  cpuPCT?: number;
  memPCT?: number;
  pidsMax?: number;
  oomPolicy: "Group" | "Process";
}

/** Whether the caps are enforced. If not, with the reason and message of the LimitsEnforced condition. */
export type CapsState = { enforced: true } | {
  enforced: false;
  reason: "ResizePending" | "LimitsUnavailable" | "Escaped";
  message: string;
};

/** A reading of the kernel's counters for one app. */
export interface Usage {
  /** Identifies the counters: runs that share a cgroup share them. */
  counters?: string;
  cpuSeconds: number;
  throttledSeconds: number;
  memoryBytes: number;
  processes: number;
  kills?: KillCounts;
}

export interface Confinement {
  /** Why caps cannot be enforced; empty if they can. */
  readonly whyNoLimits: string;
  /** Creates the cgroup of an app, and sets its caps. */
  prepareApp(folder: string, caps: Caps): Promise<CapsState>;
  /** Does that, and creates the cgroup of a run in it. The launcher gets both folders; "" means that there is none. */
  prepare(run: RunRef, caps: Caps): Promise<{ keeper: string; leaf: string; caps: CapsState }>;
  /** Moves a process of the agent to where it outlives the agent. */
  detach(pid: number): void;
  /** The folder that `prepare` creates for a run; "" if it creates none. */
  leafOf(run: RunRef): string;
  /** Sets the caps of the run's app again where they differ. */
  ensureCaps(run: RunRef, caps: Caps): Promise<CapsState>;
  /** Living processes of a run; empty only if none is known anywhere. Without cgroups the list may be incomplete. */
  processes(run: RunRef): Promise<number[]>;
  /** Sends a signal to every process of the run. */
  signal(run: RunRef, name: NodeJS.Signals): Promise<void>;
  /** Kills every process of the run at once, including forks in flight. */
  kill(run: RunRef): Promise<void>;
  /** Undoes a freeze that a crash left behind. */
  thaw(run: RunRef): Promise<void>;
  /** Calls back once when no process of the run is left; the returned function ends the watch. */
  onEmpty(run: RunRef, callback: () => void): () => void;
  /** The current usage; undefined while there is nothing to measure. */
  usage(run: RunRef): Promise<Usage | undefined>;
  /** The kills for lack of memory that the kernel has counted; undefined where it counts none. */
  kills(run: RunRef): KillCounts | undefined;
  /** Kills what is left of the run and removes what `prepare` created for it. */
  removeRun(run: RunRef): Promise<void>;
  removeApp(folder: string): Promise<void>;
  /** The runs that have a cgroup now, for an agent that starts after a crash. */
  listRuns(): Promise<RunRef[]>;
}
