/** The steps that the table of phases is made of: each a pure function from a record to the next one with its effects. */
import { describeExit, type EndedRecord, endOf, isSuccess, restartsAfter, withLastExit } from "./exit.ts";
import type { Reason } from "../../api/reasons.ts";
import { showURL } from "../../api/shown-spec.ts";
import { countKills, ownKills } from "./oom-kills.ts";
import { judgeEnd } from "./rollback.ts";
import { afterFailedStart, backoffMs, countFailures, longestBackoffMs, noWait } from "./retry.ts";
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
    failedStarts: undefined,
    run: { ...run, startedAt: at, main, ...(launcher ? { launcher } : {}) },
  };
  return decision(next, [], [{
    type: "Normal",
    reason: "Started",
    message: `Started ${scriptOf(record.app)}${main ? ` as process ${main.pid}` : ""}`,
  }]);
}

/** The script of the run could not be started; it is retried soon. */
export function startFailed(
  record: AppRecord,
  run: Run,
  problem: StartProblem,
  situation: Situation,
): Decision {
  const next: AppRecord = {
    ...record,
    phase: "Pending",
    ...problem,
    ...afterFailedStart(record, run.hash, situation),
    lastHash: run.hash,
  };
  // Its node may read them a moment after the app was bound.
  const type = problem.reason === "WaitingForSecrets" ? "Normal" : "Warning";
  return decision(withoutRun(next), [{ kind: "cleanUp", run }], [{ type, ...problem }]);
}

/** Begins to stop the run, and the other runs with it unless the reason is one of this run alone. */
export function beginStop(
  record: AppRecord,
  run: Run,
  { reason, message }: { reason: StopReason; message: string },
  { now }: Situation,
): Decision {
  const grace = record.app.spec.terminationGracePeriodSeconds;
  const stop = { reason, message, since: now, deadline: now + grace * secondMs };
  const others = reason === "ScriptFailed" || reason === "DeadlineExceeded"
    ? record.others
    : record.others?.map((other) => ({ ...other, stop }));
  const next: AppRecord = { ...record, phase: "Stopping", reason, message, run: { ...run, stop }, others };
  const type = failures.includes(reason) || reason === "Evicted" ? "Warning" : "Normal";
  const event: AppEvent = {
    type,
    reason: "Stopping",
    message: `Stopping: ${stopReasonText[reason]}${message && `: ${message}`}`,
  };
  return { ...decision(next, [], [event]), wakeAt: now };
}

/** Stops because a run failed, not because someone wanted its end. */
const failures: readonly StopReason[] = ["ProbeFailed", "ScriptFailed", "DeadlineExceeded"];

const stopReasonText: Record<StopReason, string> = {
  Deleted: "the app was deleted, unbound or moved to another node",
  Suspended: "spec.suspend is true",
  StoppedByOperator: "the operator of the node stopped it",
  Updated: "the spec changed what runs",
  Restarted: "a restart was requested",
  Replaced: "the next run is due",
  RolledBack: "an earlier version comes back",
  ProbeFailed: "a probe failed",
  DeadlineExceeded: "the run took too long",
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
  if (wasStoppedOnPurpose(record, run)) return decision(pendingAfterStop(ended), effects, events);
  const judged = judgeEnd(ended, run, exitSummary(ended.lastExit), situation);
  const all = [...events, ...judged?.events ?? []];
  if (judged?.record.refused) return decision(judged.record, effects, all);
  const next = afterExit({ ...judged?.record ?? ended, lastExit: ended.lastExit }, run, situation);
  return {
    ...decision(next, effects, all),
    ...(next.phase === "BackOff" ? { wakeAt: next.retryAt } : {}),
  };
}

/** The record without the run, with how it ended. */
function withExit(record: AppRecord, run: Run, view: RunView, { now, logTail = "" }: Situation): EndedRecord {
  const kills = ownKills(record, run, view);
  const lastExit = describeExit(run, view, { app: record.app, now, kills, tail: logTail });
  const ranMs = endOf(view, now) - (run.startedAt ?? run.createdAt);
  return {
    ...withLastExit(countKills(record, view), lastExit),
    run: undefined,
    lastHash: run.hash,
    failures: lastExit.reason === "NodeRebooted" ? 0 : countFailures(record, ranMs),
  };
}

/** Reports whether the user, the source or the agent asked for the end; not a failure, an eviction or a shutdown of the node. */
function wasStoppedOnPurpose({ withdrawn }: AppRecord, { stop, restart }: Run): boolean {
  const unwanted: StopReason[] = [...failures, "Evicted", "NodeShutdown"];
  return withdrawn === true || restart === true || (stop !== undefined && !unwanted.includes(stop.reason));
}

function pendingAfterStop(ended: EndedRecord): AppRecord {
  return { ...ended, phase: "Pending", reason: "Stopped", message: "", ...noWait };
}

/** What the restart policy and the schedule do with a run that ended by itself, by a failed probe, an eviction or with its node. */
function afterExit(ended: EndedRecord, run: Run, { now }: Situation): AppRecord {
  const { app, lastExit } = ended;
  const { restartPolicy, schedule } = app.spec;
  const wasEvicted = run.stop?.reason === "Evicted";
  // A node that is short of memory does not recover in seconds.
  const waitMs = wasEvicted ? longestBackoffMs(app) : backoffMs(app, ended.failures);
  const retryAt = waitMs === 0 ? undefined : now + waitMs;
  const message = exitSummary(lastExit);
  if (schedule && wasEvicted) {
    return { ...ended, phase: "Pending", reason: "Evicted", message, failures: 0, retryAt };
  }
  const restarts = restartsAfter(app, lastExit);
  if (schedule && !(restarts && restartPolicy === "OnFailure")) {
    // A run that is still due need not wait any longer: no other run lives.
    return { ...ended, phase: "Pending", reason: "", message: "", ...noWait };
  }
  if (!restarts) {
    const phase = isSuccess(lastExit) ? "Succeeded" : "Failed";
    return { ...ended, phase, reason: lastExit.reason, message };
  }
  return { ...ended, phase: "BackOff", reason: lastExit.reason, message, retryAt };
}

export function exitEvent(exit: LastExit): AppEvent {
  const isExpected = isSuccess(exit) || exit.reason === "Stopped";
  const reason = exit.reason === "OOMKilled" || exit.reason === "Completed" || exit.reason === "Stopped"
    ? exit.reason
    : "Exited";
  return { type: isExpected ? "Normal" : "Warning", reason, message: exitSummary(exit), exit };
}

function exitSummary(exit: LastExit): string {
  if (exit.code === undefined) return `Ended with unknown status (${exit.reason})`;
  const signal = exit.signal ? ` (${exit.signal})` : "";
  return `Ended with status ${exit.code}${signal}: ${exit.reason}`;
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
