/** The effects that the runner of an app needs; real-effects.ts implements them. */
import type { Logger } from "../../lib/log.ts";
import type { CapsState } from "../confinement/confinement.ts";
import type { AppEvent, AppRecord, Run, RunnableApp, RunView, StartProblem, StopFileEnd } from "../types.ts";

export interface StartResult {
  problem?: StartProblem;
  caps?: CapsState;
}

export interface RunEffects {
  save: (record: AppRecord) => Promise<void>;
  /** The cgroup that a new run of the app gets. */
  leafOf: (record: AppRecord, runId: string) => string;
  observe: (record: AppRecord, run: Run, waitedMs?: number) => Promise<RunView>;
  /** Cancels a run whose launcher has not claimed it. */
  cancel: (run: Run) => Promise<void>;
  thaw: (record: AppRecord, run: Run) => Promise<void>;
  /** Starts the launcher of a run; returns the state of its caps, or why it could not be started. */
  startRun: (record: AppRecord, run: Run, signal: AbortSignal) => Promise<StartResult>;
  /** Looks, at little cost, whether what the app needs of this node is still missing; see `hasVisibleCause`. */
  isBlocked: (record: AppRecord) => Promise<boolean>;
  /** The digest of the script that an app names now; undefined if it is not known. */
  readScript: (app: RunnableApp) => Promise<string | undefined>;
  /** Waits until the stop file exits; when the signal aborts, it is left running, and its end is unknown. */
  runStopFile: (record: AppRecord, run: Run, signal: AbortSignal) => Promise<StopFileEnd | undefined>;
  /** Makes the app reload its configuration; when the signal aborts, a command is left running. */
  reload: (record: AppRecord, run: Run, signal: AbortSignal) => Promise<AppEvent>;
  /** Sends the stop signal to whom the spec says. */
  terminate: (record: AppRecord, run: Run) => Promise<void>;
  kill: (record: AppRecord, run: Run) => Promise<void>;
  /** Has the output of a run copied to its log, in place of a launcher that was killed. */
  copyLog: (record: AppRecord, run: Run) => Promise<void>;
  cleanUp: (record: AppRecord, run: Run) => Promise<void>;
  /** Sets the caps again where they differ; the result says why if it cannot. */
  ensureCaps: (record: AppRecord) => Promise<CapsState>;
  forget: (record: AppRecord) => Promise<void>;
  logTail: (record: AppRecord) => Promise<string>;
  onEmpty: (record: AppRecord, run: Run, callback: () => void) => () => void;
}

export interface RunnerDeps extends RunEffects {
  now: () => number;
  bootId: string;
  newRunId: () => string;
  log: Logger;
  onChange: (record: AppRecord) => void;
  onEvent: (record: AppRecord, event: AppEvent) => void;
  onForgotten: (record: AppRecord) => void;
}
