/** The steps that the table of phases is made of: each a pure function from a record to the next one with its effects. */
import { describeExit, type EndedRecord, endOf, isSuccess, withLastExit } from "./exit.ts";
import type { Reason } from "../../api/reasons.ts";
import { showURL } from "../../api/shown-spec.ts";
import { countKills, ownKills } from "./oom-kills.ts";
import { runHash } from "./run-hash.ts";
import type { Decision, Situation } from "./situation.ts";
import type {
  AppEvent,
  AppRecord,
  Effect,
  LastExit,
  LauncherId,
  ProcessId,
  Run,
  RunnableApp,
  RunView,
  StartProblem,
  StopReason,
} from "../types.ts";

export const secondMs = 1000;
const healthyAfterMs = 600 * secondMs;

export function start(
  record: AppRecord,
  { now, bootId, newRunId, leafOf }: Situation,
  events: AppEvent[] = [],
): Decision {
  const id = newRunId();
  const { counted, app } = record;
  const hash = runHash(app);
  const run: Run = { id, bootId, hash, createdAt: now, leaf: leafOf(id), killsBefore: counted };
  const next: AppRecord = {
    ...record,
    phase: "Starting",
    reason: "Starting",
    message: "",
    run,
    retryAt: undefined,
    counted: { ...counted ?? { cgroup: "", processes: 0 }, policy: counted?.policy ?? app.spec.oomPolicy },
  };
  // Usually its mark comes first.
  return { ...decision(next, [{ kind: "start", run }], events), wakeAt: now + secondMs };
}

export function started(
  record: AppRecord,
  run: Run,
  { at, main, launcher }: { at: number; main?: ProcessId; launcher?: LauncherId },
): Decision {
  const next: AppRecord = {
    ...record,
    phase: "Running",
    reason: "Running",
    message: "",
    run: { ...run, startedAt: at, main, ...(launcher ? { launcher } : {}) },
  };
  return decision(next, [], [{
    type: "Normal",
    reason: "Started",
    message: `Started ${scriptOf(record.app)}${main ? ` as process ${main.pid}` : ""}`,
  }]);
}

/** The script of the run could not be started; it is retried after a backoff. */
export function startFailed(
  record: AppRecord,
  run: Run,
  problem: StartProblem,
  { now, nextRun = () => undefined }: Situation,
): Decision {
  const failures = record.failures + 1;
  // The next time of the schedule ends the wait, however long the backoff is.
  const retryAt = Math.min(now + backoffMs(record.app, failures), nextRun(now) ?? Infinity);
  const next: AppRecord = {
    ...record,
    phase: "Pending",
    ...problem,
    failures,
    retryAt,
    lastHash: run.hash,
  };
  return decision(withoutRun(next), [{ kind: "cleanUp", run }], [{ type: "Warning", ...problem }]);
}

/** Begins to stop the run, and the other runs with it unless the reason is this run's own failure. */
export function beginStop(
  record: AppRecord,
  run: Run,
  { reason, message }: { reason: StopReason; message: string },
  { now }: Situation,
): Decision {
  const grace = record.app.spec.terminationGracePeriodSeconds;
  const stop = { reason, message, since: now, deadline: now + grace * secondMs };
  const others = reason === "ScriptFailed"
    ? record.others
    : record.others?.map((other) => ({ ...other, stop }));
  const next: AppRecord = { ...record, phase: "Stopping", reason, message, run: { ...run, stop }, others };
  const type = reason === "ProbeFailed" || reason === "ScriptFailed" || reason === "Evicted"
    ? "Warning"
    : "Normal";
  const event: AppEvent = {
    type,
    reason: "Stopping",
    message: `Stopping: ${stopReasonText[reason]}${message && `: ${message}`}`,
  };
  return { ...decision(next, [], [event]), wakeAt: now };
}

const stopReasonText: Record<StopReason, string> = {
  Deleted: "the app was deleted, unbound or moved to another node",
  Suspended: "spec.suspend is true",
  StoppedByOperator: "the operator of the node stopped it",
  Updated: "the spec changed what runs",
  Restarted: "a restart was requested",
  Replaced: "the next run is due",
  ProbeFailed: "a probe failed",
  ScriptFailed: "the script failed",
  Evicted: "the node is short of memory",
  AgentStopped: "the agent stops its apps on exit",
  NodeShutdown: "the node is shutting down",
};

/** The run is over: records how it ended, then follows the reason of the stop or the restart policy. */
export function finish(record: AppRecord, run: Run, view: RunView, situation: Situation): Decision {
  const ended = withExit(record, run, view, situation);
  const effects: Effect[] = [{ kind: "cleanUp", run }];
  const events: AppEvent[] = [exitEvent(ended.lastExit)];
  // One of the other runs becomes the app's run, and the next step decides about it: a withdrawal, for one, has to stop it.
  if (record.others) return decision(withoutRun(ended), effects, events);
  const next = wasStoppedOnPurpose(record, run) ? pendingAfterStop(ended) : afterExit(ended, run, situation);
  return {
    ...decision(next, effects, events),
    ...(next.phase === "BackOff" ? { wakeAt: next.retryAt } : {}),
  };
}

/** The record without the run, with how it ended. Failures in a row count again from one after ten healthy minutes. */
function withExit(record: AppRecord, run: Run, view: RunView, { now, logTail = "" }: Situation): EndedRecord {
  const kills = ownKills(record, run, view);
  const lastExit = describeExit(run, view, { app: record.app, now, kills, tail: logTail });
  const ranMs = endOf(run, view, now) - (run.startedAt ?? run.createdAt);
  const failures = ranMs >= healthyAfterMs ? 1 : record.failures + 1;
  return {
    ...withLastExit(countKills(record, view), lastExit),
    run: undefined,
    lastHash: run.hash,
    failures: lastExit.reason === "NodeRebooted" ? 0 : failures,
  };
}

/** Reports whether the user, the source or the agent asked for the end; not a failure, an eviction or a shutdown of the node. */
function wasStoppedOnPurpose({ withdrawn }: AppRecord, { stop, restart }: Run): boolean {
  const unwanted: StopReason[] = ["ProbeFailed", "ScriptFailed", "Evicted", "NodeShutdown"];
  return withdrawn === true || restart === true || (stop !== undefined && !unwanted.includes(stop.reason));
}

function pendingAfterStop(ended: EndedRecord): AppRecord {
  return { ...ended, phase: "Pending", reason: "Stopped", message: "", failures: 0, retryAt: undefined };
}

/** What the restart policy and the schedule do with a run that ended by itself, by a failed probe, an eviction or with its node. */
function afterExit(ended: EndedRecord, run: Run, { now }: Situation): AppRecord {
  const { app, lastExit } = ended;
  const { restartPolicy, schedule } = app.spec;
  const wasEvicted = run.stop?.reason === "Evicted";
  // A node that is short of memory does not recover in seconds.
  const waitMs = wasEvicted ? longestBackoffMs(app) : backoffMs(app, ended.failures);
  const retryAt = now + waitMs;
  const message = `${exitSummary(lastExit)}; restarting in ${Math.round(waitMs / secondMs)} s`;
  if (schedule && wasEvicted) {
    return { ...ended, phase: "Pending", reason: "Evicted", message, failures: 0, retryAt };
  }
  if (schedule && (restartPolicy !== "OnFailure" || isSuccess(lastExit))) {
    // A run that is still due need not wait any longer: no other run lives.
    return { ...ended, phase: "Pending", reason: "", message: "", failures: 0, retryAt: undefined };
  }
  if (restartPolicy === "Never" || (restartPolicy === "OnFailure" && isSuccess(lastExit))) {
    const phase = isSuccess(lastExit) ? "Succeeded" : "Failed";
    return { ...ended, phase, reason: lastExit.reason, message: exitSummary(lastExit) };
  }
  return { ...ended, phase: "BackOff", reason: lastExit.reason, message, retryAt };
}

export function exitEvent(exit: LastExit): AppEvent {
  const isExpected = isSuccess(exit) || exit.reason === "Stopped";
  const reason = exit.reason === "OOMKilled" || exit.reason === "Completed" || exit.reason === "Stopped"
    ? exit.reason
    : "Exited";
  return { type: isExpected ? "Normal" : "Warning", reason, message: exitSummary(exit) };
}

function exitSummary(exit: LastExit): string {
  if (exit.code === undefined) return `Ended with unknown status (${exit.reason})`;
  const signal = exit.signal ? ` (${exit.signal})` : "";
  return `Ended with status ${exit.code}${signal}: ${exit.reason}`;
}

/** Reports whether it is too early for a retry. A time beyond the longest backoff comes from a clock set back, and is ignored. */
export function mustWait({ app, retryAt }: AppRecord, now: number): boolean {
  return retryAt !== undefined && now < retryAt && retryAt - now <= longestBackoffMs(app);
}

/** The wait before the next try: zero without a failure, then the base, doubled for every failure in a row, up to the maximum. */
export function backoffMs(app: RunnableApp, failures: number): number {
  if (failures === 0) return 0;
  const doubled = app.spec.backoffSeconds * 2 ** Math.min(failures - 1, 30) * secondMs;
  // At least a second: a missing script would be retried without a pause.
  return Math.max(secondMs, Math.min(longestBackoffMs(app), doubled));
}

function longestBackoffMs({ spec }: RunnableApp): number {
  return Math.max(1, spec.backoffSeconds, spec.maxBackoffSeconds) * secondMs;
}

/** Reports whether no process of the run lives and its exit status is final. */
export function isOver(view: RunView): boolean {
  return view.processes.length === 0 && (view.exit !== undefined || !view.launcherAlive);
}

/** Reports whether processes of the run write to a pipe that no process reads, since its launcher was killed. */
export function needsCopier({ launcher, launcherAlive, copier, rebooted, processes }: RunView): boolean {
  return launcher?.pipe !== undefined && !launcherAlive && !copier && !rebooted && processes.length > 0;
}

/** The record's run and its view, which the current phase requires. */
export function requireRun(record: AppRecord, { view }: Situation): { run: Run; view: RunView } {
  if (!record.run || !view) {
    throw new Error(`an app in phase ${record.phase} must have a run that was observed`);
  }
  return { run: record.run, view };
}

/** The record without its run: the next of the other runs, if there is one, becomes the app's run. */
export function withoutRun(record: AppRecord): AppRecord {
  const [run, ...rest] = record.others ?? [];
  if (!run) return { ...record, run: undefined };
  return {
    ...record,
    phase: "Running",
    reason: "Running",
    message: "",
    run,
    others: rest.length > 0 ? rest : undefined,
  };
}

/** Rests in this phase for this reason; writes nothing if that is what the record has already. */
export function rest(
  record: AppRecord,
  phase: "Pending" | "Stopped",
  reason: Reason,
  message: string,
): Decision {
  const isSame = record.phase === phase && record.reason === reason && record.message === message;
  return isSame ? unchanged(record) : decision({ ...record, phase, reason, message, retryAt: undefined }, []);
}

export function forget(record: AppRecord): Decision {
  return decision(record, [{ kind: "forget" }]);
}

export function unchanged(record: AppRecord): Decision {
  return decision(record, []);
}

export function decision(record: AppRecord, effects: Effect[], events: AppEvent[] = []): Decision {
  return { record, effects, events };
}

/** The script's name as users may see it: a URL without user, password and query. */
function scriptOf({ spec }: RunnableApp): string {
  return showURL(spec.shellFile ?? "");
}
