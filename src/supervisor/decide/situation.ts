import type {
  AppEvent,
  AppRecord,
  Effect,
  HaltReason,
  RunView,
  StartProblem,
  StopFileEnd,
} from "../types.ts";

/** What a decision is based on, in addition to the record. */
export interface Situation {
  now: number;
  bootId: string;
  newRunId: () => string;
  /** The cgroup that a new run of the app gets. */
  leafOf: (runId: string) => string;
  /** The record's run as observed now; set whenever the record has a run. */
  view?: RunView;
  /** The record's other runs as observed now, in their order. */
  others?: RunView[];
  /** When the app's schedule is due next after a time; set whenever the app has a schedule. */
  nextRun?: (after: number) => number | undefined;
  /**
   * How long this agent has waited for the launcher of the record's run: since its spawn, or since the run was adopted. Measured
   * by a monotonic clock, without the time that a download or a Secret took before.
   */
  waitedMs?: number;
  /** The last lines of the log, for a run that has ended. */
  logTail?: string;
  /** Why the start that was just tried failed. */
  problem?: StartProblem;
  /** What kept the app from starting is seen to be gone. */
  causeGone?: boolean;
  /** The digest of the script that the source wants now, for an app without a run whose version is refused. */
  wantedScript?: string;
  /** The stop file of the record's run has just ended. */
  stopFileEnd?: StopFileEnd;
  /** This agent has sent the stop signal. After a crash the next agent sends it again: better twice than never. */
  terminated?: boolean;
  /** The agent ends and stops its apps for this reason: runs end, none starts. */
  halted?: HaltReason;
  /** The node is short of memory and evicts this app, with this message. */
  eviction?: string;
  /** The liveness or startup probe has failed for good, with this message. */
  probeFailure?: string;
}

export interface Decision {
  record: AppRecord;
  effects: Effect[];
  events: AppEvent[];
  /** The latest time of the next step, even if nothing happens. */
  wakeAt?: number;
}
