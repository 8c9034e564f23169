/** The types of the supervisor: the record of an app on disk, what can be observed of a run, and the effects of decisions. */
import type { Reason, ReasonOrNone } from "../api/reasons.ts";
import type { Desired, RunnableApp } from "../api/app-shapes.ts";
import type { NCAppSpec, NCAppStatus } from "../api/types.ts";

export type Phase = NonNullable<NCAppStatus["phase"]>;
export type LastExit = NonNullable<NCAppStatus["lastExit"]> & { reason: Reason };

/** A run that has ended, as the status lists it: without the lines of its log. */
export type RecentRun = Omit<LastExit, "message">;

export type { RunnableApp };

/** Identifies a process for certain: pids are reused, a pid together with its start time is not. */
export interface ProcessId {
  pid: number;
  /** Field 22 of /proc/PID/stat: clock ticks since boot. */
  startTime: string;
}

/** The launcher of a run. */
export interface LauncherId extends ProcessId {
  /** The pipe that the run's processes write to, as /proc names it: `pipe:[INODE]`. Undefined until the claim has it. */
  pipe?: string;
}

/** One run of an app's script, from the decision to start it until nothing of it is left. */
export interface Run {
  id: string;
  /** /proc/sys/kernel/random/boot_id at its start: in another boot its processes are gone. */
  bootId: string;
  /** Digest of what runs (script, args, env, user, folder): another digest in the spec means a restart. */
  hash: string;
  createdAt: number;
  startedAt?: number;
  main?: ProcessId;
  launcher?: LauncherId;
  /** Its cgroup, "" for none. The run stays there even if later agents use another confinement. */
  leaf: string;
  /** The oldest process that lives on after the script has ended; the status shows it. */
  survivor?: number;
  /** The last result of its startup and readiness probes; undefined for an app without such probes. */
  ready?: boolean;
  /** When they last passed after they had not, and when they last failed after they had passed. */
  readyAt?: number;
  unreadyAt?: number;
  /** The digest of its script, for an app that keeps scripts; empty if this one is not kept. */
  script?: string;
  /** The failure of the startup or readiness probe that keeps it from being ready. */
  unready?: string;
  /** Its startup probe has passed: a new agent, or new probes, do not run it again. */
  startupPassed?: boolean;
  /** Why probes could not be performed the last time, by kind; their results count no more and no less. */
  probeErrors?: Partial<Record<"startup" | "liveness" | "readiness", string>>;
  /** The counts of the app's cgroup before this run. */
  killsBefore?: KillCounts;
  /** The operator ordered a restart: whatever ends the run, another one follows. */
  restart?: boolean;
  /** Set when the run has to stop, and kept until it has ended. */
  stop?: Stop;
}

export type StopReason =
  | "Deleted"
  | "Suspended"
  | "StoppedByOperator"
  | "Updated"
  | "Restarted"
  | "Replaced"
  | "RolledBack"
  | "ProbeFailed"
  | "DeadlineExceeded"
  | "ScriptFailed"
  | "Evicted"
  | HaltReason;

/** Why an agent that ends stops all apps, and starts none. */
export type HaltReason = "AgentStopped" | "NodeShutdown";

export interface Stop {
  reason: StopReason;
  message: string;
  since: number;
  /** When everything that still lives is killed. */
  deadline: number;
  /** Its stop file has ended: when, and what went wrong, if anything did. */
  file?: StopFileEnd & { at: number };
}

/** How a stop file ended: the problem names the field and the value; undefined for none. */
export interface StopFileEnd {
  problem?: string;
}

/** A version of an app that was good; see decide/versions.ts. */
export interface Version {
  /** The digest of `spec`. */
  revision: string;
  /** The part of the spec that belongs to the version. As in the rest of the record, values of its env may be secret. */
  spec: NCAppSpec;
  /** The digest of the script, if the app keeps scripts. */
  script?: string;
  /** When it became good. */
  at: number;
}

/** A version that failed or was undone. Another one is in force until the content of this one changes. */
export interface Refused {
  /** The app as its source wants it. */
  app: RunnableApp;
  script?: string;
  reason: Reason;
  /** With the last lines of the log. */
  message: string;
  at: number;
}

/**
 * Everything kept on disk about an app; enough to continue after a crash at any point. What was last desired is a checkpoint for when
 * the source is not reachable. If the spec was edited into an invalid one, `app` has the new generation and the last valid spec.
 */
export interface AppRecord extends Desired {
  /** What is wrong with the spec that the source has now. The last valid spec, in `app`, stays in force. */
  invalidEdit?: string;
  /** The `invalid` or `invalidEdit` that an event has reported. */
  toldInvalid?: string;
  phase: Phase;
  reason: ReasonOrNone;
  message: string;
  restarts: number;
  /** Runs in a row that ended; see decide/retry.ts. */
  failures: number;
  /** Starts in a row that could not happen. */
  failedStarts?: number;
  /** When the app is tried again after either. */
  retryAt?: number;
  run?: Run;
  /** Earlier runs that still live, under `concurrencyPolicy: Allow`. Empty if there is no run. */
  others?: Run[];
  /** For apps with a schedule: the schedule, when it is due next, and when the last run that started was due. */
  scheduled?: { schedule: string; nextRun?: number; lastRun?: number };
  lastExit?: LastExit;
  /** The last runs that have ended, newest first. */
  recentRuns?: RecentRun[];
  /** When a run last completed. */
  lastSuccess?: string;
  /** Digest of what ran last: a terminal phase lasts until the spec has another one. */
  lastHash?: string;
  /** The last version that was good, and the good one before it. */
  good?: Version;
  previous?: Version;
  /** The version in force, while it is not good. */
  trial?: { revision: string; script?: string; since: number };
  /** What the source wants, while `app` has an earlier version. */
  refused?: Refused;
  oomKills: number;
  /** The kernel's counts up to which kills are counted in `oomKills`, and the policy since then, which says how to count. */
  counted?: KillCounts & { policy: OomPolicy };
  /** Its record on disk cannot be read, so this one is never saved: nothing of the app is started or stopped. Says what to do. */
  hold?: string;
  /** When the operator of the node stopped the app, which then rests until it is started. */
  stoppedAt?: number;
  /** The source withdrew the app: it is forgotten when its run is over. */
  withdrawn?: boolean;
}

/** How a process ended, as its launcher wrote it down. */
export interface ProcessExit {
  /** The exit status; 128 plus the signal if one ended it. */
  code: number;
  /** The signal that ended it; 0 or absent for none. */
  signal?: number;
}

/** How the script of a run ended, and what it left behind. */
export interface ScriptExit extends ProcessExit {
  /** When this was written: at the end of the script, and again at the end of the last process that it left behind. */
  at: number;
  /** The launcher got SIGTERM, too: not the app was stopped, but everything around it. */
  terminated?: boolean;
  /** It left no process behind: its launcher, which adopts orphans, had no other child, and nobody had the pipe open. */
  alone?: boolean;
  /** How what the script left behind ended: "unknown" while it lives, and for good if its launcher was killed. Absent if it was alone. */
  last?: ProcessExit | "unknown";
}

/** What can be observed of a run now. */
export interface RunView {
  /** Who claimed this run: no one yet, the launcher, or an agent that canceled it. */
  claim: "none" | "launcher" | "cancelled";
  launcher?: LauncherId;
  launcherAlive: boolean;
  /** The copier that took over the log from a launcher that was killed; undefined if none lives. */
  copier?: ProcessId;
  /** The machine was booted after the run started. */
  rebooted: boolean;
  started?: { at: number; main: ProcessId };
  /** Why the launcher could not start the script. */
  failure?: string;
  exit?: ScriptExit;
  /** Living processes of the run without the launcher. Once the script has ended: one that is not an exec process, if any. */
  processes: number[];
  /** The kernel's counts for the app's cgroup: of this run, earlier and concurrent ones. Undefined without a memory controller. */
  kills?: KillCounts;
  /** The digest of the script that it was started with; see Run. */
  script?: string;
}

export type OomPolicy = RunnableApp["spec"]["oomPolicy"];

/** The kernel's counts of out-of-memory kills in one cgroup, since it was created. */
export interface KillCounts {
  cgroup: string;
  processes: number;
  /** Kills of the whole group; undefined before Linux 5.17. */
  groups?: number;
}

export interface StartProblem {
  reason: Reason;
  message: string;
}

/** A problem that the user or an operator has to fix before the app can start; the message names the field and the value. */
export class StartError extends Error implements StartProblem {
  override name = "StartError";
  readonly reason: Reason;
  constructor(reason: Reason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** The API server gave no answer to the question for a value: no connection, too slow, or an error of its own. */
export class UnansweredError extends StartError {}

/** What the runner performs for a decision, in order, after the record is on disk. */
export type Effect =
  | { kind: "start"; run: Run }
  | { kind: "cancel"; run: Run }
  | { kind: "stopFile"; run: Run }
  | { kind: "terminate"; run: Run }
  | { kind: "kill"; run: Run }
  | { kind: "copyLog"; run: Run }
  | { kind: "cleanUp"; run: Run }
  | { kind: "ensureCaps" }
  | { kind: "forget" };

/** An event of the app, as `kubectl describe` shows it. */
export interface AppEvent {
  type: "Normal" | "Warning";
  reason: Reason;
  message: string;
  /** How the run ended whose end this is. */
  exit?: LastExit;
  /** Only for the history on the node: the API server knows it. */
  isLocal?: boolean;
}

/** Names one run of one app, for the confinement that holds its processes. */
export interface RunRef {
  folder: string;
  runId: string;
  main?: ProcessId;
  /** Its launcher, which adopts what the script's processes leave behind. */
  launcher?: LauncherId;
  /** The cgroup that the run was started in, "" for none; undefined for a run that the current confinement holds. */
  leaf?: string;
  /** Its script has ended and left no process behind; see ScriptExit. */
  alone?: boolean;
}
