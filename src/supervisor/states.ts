/**
 * The life of an app as a table: for each phase a function from what is known to what comes next. All pure.
 *
 * Invariants:
 * - A decision's record is on disk before its effects are performed; performing an effect twice does no harm.
 * - A run is in the record from before its launcher is spawned until nothing of it is left, so there is never a second one.
 * - Nothing but a withdrawal by the source, or the spec itself, stops a healthy app.
 */
import { describeExit, isSuccess } from "./exit.ts";
import { runHash } from "./run-hash.ts";
import type {
  AppEvent,
  AppRecord,
  Effect,
  LastExit,
  Phase,
  Run,
  RunnableApp,
  RunView,
  StartProblem,
  StopReason,
} from "./types.ts";

/** What a decision is made on, beside the record. */
export interface Situation {
  now: number;
  bootId: string;
  newRunId: () => string;
  /** The record's run as it can be seen now; there whenever the record has a run. */
  view?: RunView;
  /** The last lines of the log, for a run that has ended. */
  logTail?: string;
  /** The start that was just tried failed for this reason. */
  problem?: StartProblem;
  /** SIGTERM went out in this agent's life. After a crash it goes out again: better twice than never. */
  terminated?: boolean;
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

const secondMs = 1000;
const healthyAfterMs = 600 * secondMs;

/** Decides what an app needs next. */
export function decide(record: AppRecord, situation: Situation): Decision {
  return table[record.phase](record, situation);
}

const table: Record<Phase, (record: AppRecord, situation: Situation) => Decision> = {
  Pending: decidePending,
  Starting: decideStarting,
  Running: decideRunning,
  Stopping: decideStopping,
  BackOff: decideBackOff,
  Succeeded: decideTerminal,
  Failed: decideTerminal,
  // Written by the scheduler about nodes that are gone; a living agent looks afresh.
  Unknown: decidePending,
};

function decidePending(record: AppRecord, situation: Situation): Decision {
  const { spec } = record.app;
  if (record.withdrawn) return forget(record);
  if (record.invalid) return stay(record, "InvalidSpec", record.invalid);
  if (!spec.shellFile) {
    return stay(record, "NoShellFile", "spec.shellFile is empty: there is nothing to run yet");
  }
  if (spec.suspend) return stay(record, "Suspended", "spec.suspend is true");
  const isSame = record.lastHash === runHash(record.app);
  if (isSame && mustWait(record, situation.now)) return { ...unchanged(record), wakeAt: record.retryAt };
  return start(record, situation);
}

function decideStarting(record: AppRecord, situation: Situation): Decision {
  const { run, view } = runAndView(record, situation);
  if (situation.problem) return startFailed(record, run, situation.problem, situation);
  if (view.claim === "cancelled") {
    return act({ ...record, phase: "Pending", run: undefined }, [{ kind: "cleanUp", run }]);
  }
  if (view.failure) {
    return startFailed(record, run, { reason: "LaunchFailed", message: view.failure }, situation);
  }
  if (view.started) return started(record, run, view.started);
  if (view.exit) {
    const message = "the launcher could not open the log or the environment of the run";
    return startFailed(record, run, { reason: "LaunchFailed", message }, situation);
  }
  if (view.claim === "launcher" && !view.launcherAlive) {
    const message = "the launcher ended before the script began";
    return startFailed(record, run, { reason: "LaunchFailed", message }, situation);
  }
  return { ...unchanged(record), wakeAt: situation.now + secondMs };
}

function decideRunning(record: AppRecord, situation: Situation): Decision {
  const { run, view } = runAndView(record, situation);
  if (isOver(view)) return finish(record, run, view, situation);
  const reason = reasonToStop(record, run, view, situation);
  if (reason) return beginStop(record, run, reason, situation);
  const decision = act(record, [{ kind: "limits" }]);
  // The script is gone and its launcher is about to say how.
  return view.processes.length === 0 ? { ...decision, wakeAt: situation.now + secondMs } : decision;
}

function decideStopping(record: AppRecord, situation: Situation): Decision {
  const { run, view } = runAndView(record, situation);
  if (isOver(view)) return finish(record, run, view, situation);
  const deadline = run.stop?.deadline ?? situation.now;
  if (situation.now >= deadline) {
    return { ...act(record, [{ kind: "kill", run }]), wakeAt: situation.now + secondMs };
  }
  if (situation.terminated) {
    return { ...unchanged(record), wakeAt: Math.min(deadline, situation.now + secondMs) };
  }
  const stopFile: Effect[] = record.app.spec.stopFile ? [{ kind: "stopFile", run }] : [];
  return { ...act(record, [...stopFile, { kind: "terminate", run }]), wakeAt: deadline };
}

function decideBackOff(record: AppRecord, situation: Situation): Decision {
  if (record.withdrawn) return forget(record);
  if (record.app.spec.suspend) return stay(record, "Suspended", "spec.suspend is true");
  if (runHash(record.app) !== record.lastHash) return start({ ...record, failures: 0 }, situation);
  if (mustWait(record, situation.now)) return { ...unchanged(record), wakeAt: record.retryAt };
  return start({ ...record, restarts: record.restarts + 1 }, situation);
}

function decideTerminal(record: AppRecord, situation: Situation): Decision {
  if (record.withdrawn) return forget(record);
  const sameAsRan = runHash(record.app) === record.lastHash;
  return sameAsRan ? unchanged(record) : start({ ...record, failures: 0 }, situation);
}

function start(record: AppRecord, { now, bootId, newRunId }: Situation): Decision {
  const run: Run = { id: newRunId(), bootId, hash: runHash(record.app), createdAt: now };
  const next: AppRecord = {
    ...record,
    phase: "Starting",
    reason: "Starting",
    message: "",
    run,
    retryAt: undefined,
  };
  return act(next, [{ kind: "launch", run }]);
}

function started(record: AppRecord, run: Run, { at, main }: NonNullable<RunView["started"]>): Decision {
  const next: AppRecord = {
    ...record,
    phase: "Running",
    reason: "Running",
    message: "",
    run: { ...run, startedAt: at, main },
  };
  return act(next, [], [{
    type: "Normal",
    reason: "Started",
    message: `Started ${scriptOf(record.app)} as process ${main.pid}`,
  }]);
}

function startFailed(record: AppRecord, run: Run, problem: StartProblem, { now }: Situation): Decision {
  const failures = record.failures + 1;
  const next: AppRecord = {
    ...record,
    phase: "Pending",
    ...problem,
    failures,
    retryAt: now + backoffMs(record.app, failures),
    lastHash: run.hash,
    run: undefined,
  };
  return act(next, [{ kind: "cleanUp", run }], [{ type: "Warning", ...problem }]);
}

function reasonToStop(
  record: AppRecord,
  run: Run,
  view: RunView,
  { probeFailure, eviction }: Situation,
): { reason: StopReason; message: string } | undefined {
  if (record.withdrawn) return { reason: "Deleted", message: "" };
  if (record.app.spec.suspend) return { reason: "Suspended", message: "" };
  if (runHash(record.app) !== run.hash) return { reason: "Updated", message: "" };
  if (view.exit && view.exit.code !== 0) {
    return {
      reason: "ScriptFailed",
      message: `the script ended with status ${view.exit.code} and left processes behind`,
    };
  }
  if (eviction !== undefined) return { reason: "Evicted", message: eviction };
  return probeFailure === undefined ? undefined : { reason: "ProbeFailed", message: probeFailure };
}

function beginStop(
  record: AppRecord,
  run: Run,
  { reason, message }: { reason: StopReason; message: string },
  { now }: Situation,
): Decision {
  const grace = record.app.spec.terminationGracePeriodSeconds;
  const stop = { reason, message, since: now, deadline: now + grace * secondMs };
  const next: AppRecord = { ...record, phase: "Stopping", reason, message, run: { ...run, stop } };
  const type = reason === "ProbeFailed" || reason === "ScriptFailed" || reason === "Evicted"
    ? "Warning"
    : "Normal";
  const event: AppEvent = {
    type,
    reason: "Stopping",
    message: `Stopping: ${stopWords[reason]}${message && `: ${message}`}`,
  };
  return { ...act(next, [], [event]), wakeAt: now };
}

const stopWords: Record<StopReason, string> = {
  Deleted: "the app was deleted or moved away",
  Suspended: "spec.suspend is true",
  Updated: "what runs has changed",
  Restarted: "a restart was asked for",
  ProbeFailed: "a probe failed",
  ScriptFailed: "the script failed",
  Evicted: "the node is short of memory",
};

/** The run is over: remember how it ended, then follow the stop's purpose or the restart policy. */
function finish(record: AppRecord, run: Run, view: RunView, situation: Situation): Decision {
  const exit = describeExit(run, view, situation.now, situation.logTail ?? "");
  const ranMs = situation.now - (run.startedAt ?? run.createdAt);
  const ended: AppRecord = {
    ...record,
    run: undefined,
    lastExit: exit,
    lastHash: run.hash,
    oomKills: record.oomKills + view.oomKills,
    failures: exit.reason === "NodeRebooted" ? 0 : ranMs >= healthyAfterMs ? 1 : record.failures + 1,
  };
  const effects: Effect[] = [{ kind: "cleanUp", run }];
  const events: AppEvent[] = [endEvent(exit)];
  const asked = run.stop && run.stop.reason !== "ProbeFailed" && run.stop.reason !== "ScriptFailed";
  if (record.withdrawn || (asked && run.stop?.reason !== "Evicted")) {
    return act(
      { ...ended, phase: "Pending", reason: "Stopped", message: "", failures: 0, retryAt: undefined },
      effects,
      events,
    );
  }
  const policy = record.app.spec.restartPolicy;
  const done = policy === "Never" || (policy === "OnFailure" && isSuccess(exit));
  if (done) {
    const phase = isSuccess(exit) ? "Succeeded" : "Failed";
    return act(
      { ...ended, phase, reason: exit.reason ?? phase, message: exitSummary(exit) },
      effects,
      events,
    );
  }
  // What made the node short of memory is not over in seconds.
  const waitMs = run.stop?.reason === "Evicted"
    ? longestBackoffMs(record.app)
    : backoffMs(record.app, ended.failures);
  const next: AppRecord = {
    ...ended,
    phase: "BackOff",
    reason: exit.reason ?? "Error",
    message: `${exitSummary(exit)}; restarting in ${Math.round(waitMs / secondMs)} s`,
    retryAt: situation.now + waitMs,
  };
  return { ...act(next, effects, events), wakeAt: next.retryAt };
}

function endEvent(exit: LastExit): AppEvent {
  const good = isSuccess(exit) || exit.reason === "Stopped";
  const reason = exit.reason === "OOMKilled" || exit.reason === "Completed" || exit.reason === "Stopped"
    ? exit.reason
    : "Exited";
  return { type: good ? "Normal" : "Warning", reason, message: exitSummary(exit) };
}

function exitSummary(exit: LastExit): string {
  if (exit.code === undefined) return `Ended with unknown status (${exit.reason})`;
  const signal = exit.signal ? ` (${exit.signal})` : "";
  return `Ended with status ${exit.code}${signal}: ${exit.reason}`;
}

/** Not yet time to try again. A time further off than any wait is a clock that was set back: it does not count. */
function mustWait({ app, retryAt }: AppRecord, now: number): boolean {
  return retryAt !== undefined && now < retryAt && retryAt - now <= longestBackoffMs(app);
}

/** The wait before the next try: none without a failure, then the base, doubled for every failure in a row, up to the most. */
export function backoffMs(app: RunnableApp, failures: number): number {
  if (failures === 0) return 0;
  return Math.min(
    longestBackoffMs(app),
    app.spec.backoffSeconds * 2 ** Math.min(failures - 1, 30) * secondMs,
  );
}

function longestBackoffMs({ spec }: RunnableApp): number {
  return Math.max(spec.backoffSeconds, spec.maxBackoffSeconds) * secondMs;
}

/** Nothing of the run lives, and nobody is about to say how it ended. */
function isOver(view: RunView): boolean {
  return view.processes.length === 0 && (view.exit !== undefined || !view.launcherAlive);
}

function runAndView(record: AppRecord, { view }: Situation): { run: Run; view: RunView } {
  if (!record.run || !view) {
    throw new Error(`an app in phase ${record.phase} must have a run that was looked at`);
  }
  return { run: record.run, view };
}

function stay(record: AppRecord, reason: string, message: string): Decision {
  const same = record.phase === "Pending" && record.reason === reason && record.message === message;
  return same
    ? unchanged(record)
    : act({ ...record, phase: "Pending", reason, message, retryAt: undefined }, []);
}

function forget(record: AppRecord): Decision {
  return act(record, [{ kind: "forget" }]);
}

function unchanged(record: AppRecord): Decision {
  return act(record, []);
}

function act(record: AppRecord, effects: Effect[], events: AppEvent[] = []): Decision {
  return { record, effects, events };
}

function scriptOf(app: RunnableApp): string {
  return app.spec.shellFile ?? "";
}
