/** What decisions are made on, and what they are. */
import type { AppEvent, AppRecord, Effect, RunView, StartProblem } from "../types.ts";

/** What a decision is made on, beside the record. */
export interface Situation {
  now: number;
  bootId: string;
  newRunId: () => string;
  /** The cgroup that a new run of the app gets. */
  leafOf: (runId: string) => string;
  /** The record's run as it can be seen now; there whenever the record has a run. */
  view?: RunView;
  /** The record's other runs as they can be seen now, in their order. */
  others?: RunView[];
  /** When the app's schedule is due next after a time; there whenever the app has one. */
  nextRun?: (after: number) => number | undefined;
  /**
   * For how long this agent has waited for the launcher of the record's run: since it was on its way, or since the run was taken
   * over. No clock that is set counts here, nor the time that a download or a Secret took before.
   */
  waitedMs?: number;
  /** The last lines of the log, for a run that has ended. */
  logTail?: string;
  /** The start that was just tried failed for this reason. */
  problem?: StartProblem;
  /** SIGTERM went out in this agent's life. After a crash it goes out again: better twice than never. */
  terminated?: boolean;
  /** The agent takes its apps with it: runs end, none begins. */
  halted?: boolean;
  /** The node is short of memory and this app has to go, with this message. */
  eviction?: string;
  /** The liveness or startup probe has given the app up, with this message. */
  probeFailure?: string;
}

export interface Decision {
  record: AppRecord;
  effects: Effect[];
  events: AppEvent[];
  /** Look again at this time at the latest, even if nothing happens. */
  wakeAt?: number;
}
