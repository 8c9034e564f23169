/**
 * The words of the supervisor: what is on disk about an app, what can be seen of it now, and what may be done to it.
 */
import type { DefaultedSpec, NCApp, NCAppStatus } from "../api/types.ts";

export type Phase = NonNullable<NCAppStatus["phase"]>;
export type LastExit = NonNullable<NCAppStatus["lastExit"]>;

/** An NCApp as the supervisor takes it: valid, with every default filled in. */
export type RunnableApp = Omit<NCApp, "spec" | "status"> & { spec: DefaultedSpec };

/** A process that cannot be mistaken for another: pids are reused, start times with the same pid are not. */
export interface ProcessId {
  pid: number;
  /** Field 22 of /proc/PID/stat: clock ticks since boot. */
  startTime: string;
}

/** One run of an app's script, from the decision to start it until nothing of it is left. */
export interface Run {
  id: string;
  /** /proc/sys/kernel/random/boot_id when it began: in another boot none of its processes can be alive. */
  bootId: string;
  /** Digest of what runs (script, args, env, user, folder): another digest in the spec means a restart. */
  hash: string;
  createdAt: number;
  startedAt?: number;
  main?: ProcessId;
  /** Its cgroup, "" for none. The run stays there whatever confinement later agents use. */
  leaf: string;
  /** The process that stands for it since its script has ended and others live on: the oldest of them. */
  survivor?: number;
  /** What its startup and readiness probes said last; undefined for an app without such probes. */
  ready?: boolean;
  /** Its startup probe has passed: a new agent, or new probes, do not make it pass again. */
  startupPassed?: boolean;
  /** Set once the run has to end, and kept until it has. */
  stop?: Stop;
}

export type StopReason =
  | "Deleted"
  | "Suspended"
  | "Updated"
  | "Restarted"
  | "Replaced"
  | "ProbeFailed"
  | "ScriptFailed"
  | "Evicted"
  | "AgentStopped";

export interface Stop {
  reason: StopReason;
  message: string;
  since: number;
  /** When patience ends and everything left is killed. */
  deadline: number;
}

/** All that is kept on disk about an app; enough to go on after a crash at any point. */
export interface AppRecord {
  /**
   * The object as last desired, without status: the checkpoint that serves when the source cannot be asked. Of an object whose
   * spec was edited into an invalid one it has the generation, and the spec from before.
   */
  app: RunnableApp;
  source: string;
  origin?: string;
  /** What is wrong with the spec; nothing is started from it. */
  invalid?: string;
  /** What is wrong with the spec that the source has now. The one in `app`, the last valid one, stays in force. */
  invalidEdit?: string;
  /** Of `invalid` or `invalidEdit`: what an event has told. */
  toldInvalid?: string;
  phase: Phase;
  reason: string;
  message: string;
  restarts: number;
  /** Ends or vain starts in a row; decides how long the next wait is. */
  failures: number;
  /** When the wait of BackOff, or of a start that could not be made, is over. */
  retryAt?: number;
  run?: Run;
  /** Earlier runs that still live beside it, under `concurrencyPolicy: Allow`. There are none without a run. */
  others?: Run[];
  /** For apps with a schedule: which one the times are of, when it is due next, when the last run that began was due. */
  scheduled?: { schedule: string; nextRun?: number; lastRun?: number };
  lastExit?: LastExit;
  /** Digest of what ran last: a terminal state holds until the spec asks for something else. */
  lastHash?: string;
  oomKills: number;
  /** How many kills that the app's cgroup shows are in `oomKills` already: runs beside one another share it. */
  countedKills?: number;
  /** The app was withdrawn by its source and is to be forgotten when its run is over. */
  withdrawn?: boolean;
}

/** What can be seen of a run at this moment. */
export interface RunView {
  /** Who may still decide about this run: nobody yet, the launcher, or an agent that called it off. */
  claim: "none" | "launcher" | "cancelled";
  launcher?: ProcessId;
  launcherAlive: boolean;
  /** The machine was booted after the run began. */
  rebooted: boolean;
  started?: { at: number; main: ProcessId };
  /** The launcher could not bring the script to life; says why. */
  failure?: string;
  exit?: { code: number; at: number };
  /** Living processes of the run, the launcher not among them. Once the script has ended: one of the app's own, no visitor. */
  processes: number[];
  /** The kernel's count for the app's cgroup: of this run, and of those that lived beside it. */
  oomKills: number;
}

/** Why an app could not be started. */
export interface StartProblem {
  reason: string;
  message: string;
}

/** A problem that the user or an operator has to fix before the app can start; the message names the field and the value. */
export class StartError extends Error implements StartProblem {
  override name = "StartError";
  readonly reason: string;
  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** What the runner does for a decision, in order, after the record is on disk. */
export type Effect =
  | { kind: "start"; run: Run }
  | { kind: "cancel"; run: Run }
  | { kind: "stopFile"; run: Run }
  | { kind: "terminate"; run: Run }
  | { kind: "kill"; run: Run }
  | { kind: "cleanUp"; run: Run }
  | { kind: "ensureCaps" }
  | { kind: "forget" };

/** A line of the app's story, for `kubectl describe`. */
export interface AppEvent {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** Names one run of one app, for the confinement that holds its processes. */
export interface RunRef {
  folder: string;
  runId: string;
  main?: ProcessId;
  /** The cgroup that the run was started in, "" for none; undefined for a run that the current confinement holds. */
  leaf?: string;
}
