/**
 * Decides what an app needs next: a table with one pure function per phase, from what is known to the next record and its effects.
 *
 * transitions.ts has the steps that the table is made of: what follows a start, a stop and an exit, which includes the restart
 * policy. exit.ts only describes how a run ended. retry.ts knows when to try again. due-runs.ts decides about schedules.
 *
 * Invariants:
 * - A decision's record is on disk before its effects are performed; performing an effect twice does no harm.
 * - A run is in the record from before its launcher is spawned until nothing of it is left, so there is never a second one.
 * - Only a withdrawal by the source, the spec itself, or an order of the operator stops a healthy app.
 */
import { annotations } from "../../api/names.ts";
import { reportInvalid } from "./merge-desired.ts";
import { describeExit, outOfMemory, restartsAfter, wasKilled, withLastExit } from "./exit.ts";
import { countKills, ownKills, withPolicyCounted } from "./oom-kills.ts";
import { stoppedMessage } from "./orders.ts";
import { runsOf } from "../run-ref.ts";
import { deadlineOf, overdueRun, stopOverdueRun } from "./deadline.ts";
import { becomeGood, goodTime, progressDeadline, rollBackLate, withTrial } from "./rollback.ts";
import { mustWait, noWait, waitUntil } from "./retry.ts";
import { runHash } from "./run-hash.ts";
import {
  decideConcurrentRun,
  decideScheduled,
  isRunDue,
  refreshSchedule,
  withDueTimeKept,
  withDueTimeUsed,
  withInterruptedRunDue,
  withoutSchedule,
} from "./due-runs.ts";
import type { Decision, Situation } from "./situation.ts";
import { withSurvivors } from "./status-pid.ts";
import { signalTime, withStopFileEnd } from "./stop-times.ts";
import {
  beginStop,
  decision,
  exitEvent,
  finish,
  forget,
  isOver,
  needsCopier,
  requireRun,
  rest,
  secondMs,
  start,
  started,
  startFailed,
  unchanged,
  withoutRun,
} from "./transitions.ts";
import type {
  AppRecord,
  Effect,
  Phase,
  Run,
  RunnableApp,
  RunView,
  StartProblem,
  StopReason,
} from "../types.ts";

export {
  editEvent,
  heldRecord,
  invalidEditMessage,
  mergeDesired,
  mergeProbeState,
  newRecord,
  type RunProbeState,
} from "./merge-desired.ts";
export { mergeOrder, mergeUndoRequest, type Order, refuseOrder } from "./orders.ts";
export { totalKills } from "./oom-kills.ts";
export { keepRuns } from "./recent-runs.ts";
export { hasVisibleCause, retryFailedStart, retryMessage } from "./retry.ts";
export { isReady, progressDeadline, restartTrial } from "./rollback.ts";
export { runHash } from "./run-hash.ts";
export { isOver, needsCopier } from "./transitions.ts";
export type { Situation } from "./situation.ts";
export { statusPid } from "./status-pid.ts";
export { signalOf, stopFileMs } from "./stop-times.ts";
export { revisionOf, revisionsOf, scriptsOf, updateOf, versionName, wantedApp } from "./versions.ts";

const claimMs = 10 * secondMs;
const noShellFile = "spec.shellFile is empty: there is nothing to run yet";

export function decide(record: AppRecord, situation: Situation): Decision {
  if (record.hold !== undefined) return unchanged(record);
  const counted = withPolicyCounted(record, situation.view);
  const reported = reportInvalid(withTrial(withSurvivors(counted, situation), situation));
  const finished = finishOthers(reported.record, situation);
  const next = rollBackLate(finished.record, situation) ?? table[record.phase](finished.record, situation);
  const wakeAt = earliest(next.wakeAt, progressDeadline(next.record));
  return {
    ...next,
    ...(wakeAt === undefined ? {} : { wakeAt }),
    effects: [...finished.effects, ...next.effects, ...copyLogs(record, next.record, situation)],
    events: [...reported.events, ...finished.events, ...next.events],
  };
}

/**
 * Decides as far as one look at the app goes: what it shows of a script that has just started is enough for an app that runs.
 * `isSettled` says that the last decision changed nothing. The log of a run that is over is read for its phase, so that needs
 * another look.
 */
export function decideAll(record: AppRecord, situation: Situation): Decision & { isSettled: boolean } {
  const first = decide(record, situation);
  const { view } = situation;
  const hasStarted = record.phase === "Starting" && first.record.phase === "Running";
  if (!hasStarted || first.effects.length > 0 || (view && isOver(view))) {
    return { ...first, isSettled: first.record === record };
  }
  const second = decide(first.record, situation);
  return {
    ...second,
    events: [...first.events, ...second.events],
    isSettled: second.record === first.record,
  };
}

const table: Record<Phase, (record: AppRecord, situation: Situation) => Decision> = {
  Pending: decidePending,
  Starting: decideStarting,
  Running: decideRunning,
  Stopping: decideStopping,
  BackOff: decideBackOff,
  Succeeded: decideTerminal,
  Failed: decideTerminal,
  // Rests until neither the spec nor the operator forbids a start.
  Stopped: decidePending,
  // Written by the scheduler for nodes that are gone; a living agent decides again.
  Unknown: decidePending,
};

function decidePending(record: AppRecord, situation: Situation): Decision {
  if (record.withdrawn) return forget(record);
  if (situation.halted) return unchanged(record);
  const forbidden = forbidStart(record);
  if (forbidden) return forbidden;
  if (record.app.spec.schedule) return decideScheduled(record, situation);
  const isSame = record.lastHash === runHash(record.app);
  const wakeAt = isSame ? waitUntil(record, situation) : undefined;
  return wakeAt === undefined ? start(record, situation) : { ...unchanged(record), wakeAt };
}

function decideStarting(record: AppRecord, situation: Situation): Decision {
  const { run, view } = requireRun(record, situation);
  const failed = (problem: StartProblem) =>
    startFailed(withDueTimeKept(record, run), run, problem, situation);
  const running = (mark: Parameters<typeof started>[2]) =>
    started(withDueTimeUsed(record, run, situation), run, { ...mark, launcher: view.launcher });
  if (situation.problem) return failed(situation.problem);
  if (view.claim === "cancelled") {
    const next: AppRecord = { ...withDueTimeKept(record, run), phase: "Pending" };
    return decision(withoutRun(next), [{ kind: "cleanUp", run }]);
  }
  if (view.failure) return failed({ reason: "LaunchFailed", message: view.failure });
  if (view.started) return running(view.started);
  if (view.exit) {
    const message = "the launcher could not open the log or the environment of the run";
    return failed({ reason: "LaunchFailed", message });
  }
  if (view.claim === "launcher" && !view.launcherAlive) {
    return failed({ reason: "LaunchFailed", message: "the launcher exited before the script started" });
  }
  const isOverdue = (situation.waitedMs ?? 0) > claimMs;
  // The mark was lost but the script lives: it is not started a second time.
  if (isOverdue && view.processes.length > 0) return running({ at: run.createdAt });
  // A launcher claims its run within moments. If it has not by now, the run is canceled for certain and can be started again.
  const cancel: Effect[] = isOverdue && view.claim === "none" ? [{ kind: "cancel", run }] : [];
  return { ...decision(record, cancel), wakeAt: situation.now + secondMs };
}

function decideRunning(record: AppRecord, situation: Situation): Decision {
  const { run, view } = requireRun(record, situation);
  if (isOver(view)) return finish(withInterruptedRunDue(record, run), run, view, situation);
  const reason = reasonToStop(record, run, view, situation);
  if (reason) return beginStop(record, run, reason, situation);
  const overdue = overdueRun(record, situation.now);
  if (overdue) return stopOverdueRun(record, overdue, situation);
  const refreshed = refreshSchedule(record, situation);
  if (refreshed !== record) return decision(refreshed, []);
  const goodAt = goodTime(record, situation.now);
  if (goodAt !== undefined && situation.now >= goodAt) {
    return { effects: [], ...becomeGood(record, situation.now) };
  }
  // Under Allow, the start of a concurrent run may have failed.
  const waits = mustWait(record, situation.now);
  if (isRunDue(record, situation) && !waits) return decideConcurrentRun(record, run, situation);
  const due = waits ? record.retryAt : record.scheduled?.nextRun;
  const wakeAt = earliest(due, goodAt, ...runsOf(record).map((run) => deadlineOf(record, run)));
  // If the script is gone, its launcher is about to write the exit status.
  const isEnding = view.processes.length === 0;
  return {
    ...decision(record, [{ kind: "ensureCaps" }]),
    wakeAt: isEnding ? situation.now + secondMs : wakeAt,
  };
}

function decideStopping(record: AppRecord, situation: Situation): Decision {
  const { run, view } = requireRun(record, situation);
  const others = (record.others ?? []).filter(({ stop }) => stop);
  if (isOver(view) && others.length === 0) {
    return finish(withInterruptedRunDue(record, run), run, view, situation);
  }
  const { since, deadline } = run.stop ?? { since: situation.now, deadline: situation.now };
  const each = (kind: "kill" | "terminate") => [run, ...others].map((run): Effect => ({ kind, run }));
  // A time before the stop began means that the clock was set back: the wait could take forever.
  if (situation.now >= deadline || situation.now < since) {
    return { ...decision(record, each("kill")), wakeAt: situation.now + secondMs };
  }
  if (situation.stopFileEnd && run.stop) {
    const next = withStopFileEnd(record, run.stop, situation.stopFileEnd, situation.now);
    return { ...decision(next.record, [], next.events), wakeAt: situation.now };
  }
  const signalAt = run.stop ? signalTime(record.app, run.stop) : since;
  const waitUntil = situation.terminated ? deadline : signalAt;
  if (waitUntil === undefined) return { ...decision(record, [{ kind: "stopFile", run }]), wakeAt: deadline };
  if (situation.now < waitUntil) {
    return { ...unchanged(record), wakeAt: Math.min(waitUntil, situation.now + secondMs) };
  }
  return { ...decision(record, each("terminate")), wakeAt: deadline };
}

function decideBackOff(record: AppRecord, situation: Situation): Decision {
  if (record.withdrawn) return forget(record);
  if (situation.halted) return unchanged(record);
  const forbidden = forbidStart(record);
  if (forbidden) return forbidden;
  if (runHash(record.app) !== record.lastHash) return start({ ...record, ...noWait }, situation);
  if (isRunDue(record, situation)) return decideScheduled({ ...record, retryAt: undefined }, situation);
  const wakeAt = waitUntil(record, situation);
  if (wakeAt !== undefined) return { ...unchanged(record), wakeAt };
  return start({ ...record, restarts: record.restarts + 1 }, situation);
}

function decideTerminal(record: AppRecord, situation: Situation): Decision {
  if (record.withdrawn) return forget(record);
  if (situation.halted || isDeleted(record)) return unchanged(record);
  if (record.stoppedAt !== undefined) return restStopped(record);
  if (record.invalid) return unchanged(record);
  if (record.app.spec.schedule) return decideScheduled(record, situation);
  const mayRestart = record.lastExit !== undefined && restartsAfter(record.app, record.lastExit);
  if (runHash(record.app) === record.lastHash && !mayRestart) return unchanged(record);
  // The spec runs something else now, or its restart policy is another one: decidePending takes over.
  return decision({ ...record, phase: "Pending", reason: "", message: "", ...noWait }, []);
}

/** Why the spec or the operator forbids a start; undefined if they do not. */
function forbidStart(record: AppRecord): Decision | undefined {
  const { shellFile, suspend } = record.app.spec;
  if (isDeleted(record)) {
    const message = "the app is being deleted and does not start again";
    return rest(withoutSchedule(record), "Pending", "Deleted", message);
  }
  if (record.stoppedAt !== undefined) return restStopped(record);
  if (record.heldBy) {
    const message = `waiting until it has stopped on node ${record.heldBy}`;
    return rest(record, "Pending", "StillStopping", message);
  }
  if (record.invalid) return rest(record, "Pending", "InvalidSpec", record.invalid);
  if (!shellFile) return rest(record, "Pending", "NoShellFile", noShellFile);
  return suspend ? rest(withoutSchedule(record), "Stopped", "Suspended", "spec.suspend is true") : undefined;
}

function restStopped(record: AppRecord): Decision {
  return rest(withoutSchedule(record), "Stopped", "StoppedByOperator", stoppedMessage(record));
}

/** Records how other runs ended and cleans them up, in every phase. */
function finishOthers(record: AppRecord, situation: Situation): Decision {
  const { others = [] } = record;
  const views = situation.others ?? [];
  const over = others.filter((_, index) => views[index] && isOver(views[index]));
  if (over.length === 0) return unchanged(record);
  let counted = record;
  const exits = over.map((run) => {
    const view = views[others.indexOf(run)]!;
    const kills = ownKills(counted, run, view);
    counted = countKills(counted, view);
    return describeExit(run, view, { app: record.app, now: situation.now, kills, tail: "" });
  });
  const remaining = others.filter((run) => !over.includes(run));
  const next = exits.reduce(withLastExit, {
    ...counted,
    others: remaining.length > 0 ? remaining : undefined,
  });
  return decision(next, over.map((run): Effect => ({ kind: "cleanUp", run })), exits.map(exitEvent));
}

/** The runs whose launcher was killed need another process that copies their output to the log. */
function copyLogs(before: AppRecord, after: AppRecord, { view, others: views = [] }: Situation): Effect[] {
  const observed = [
    { run: before.run, view },
    ...views.map((view, at) => ({ run: before.others?.[at], view })),
  ];
  const ids = observed.filter(({ view }) => view && needsCopier(view)).map(({ run }) => run?.id);
  return runsOf(after).filter(({ id }) => ids.includes(id)).map((run) => ({ kind: "copyLog", run }));
}

function earliest(...times: (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

function reasonToStop(
  record: AppRecord,
  run: Run,
  view: RunView,
  { probeFailure, eviction, halted }: Situation,
): { reason: StopReason; message: string } | undefined {
  if (record.withdrawn || isDeleted(record)) return { reason: "Deleted", message: "" };
  if (record.stoppedAt !== undefined) return { reason: "StoppedByOperator", message: "" };
  if (record.app.spec.suspend) return { reason: "Suspended", message: "" };
  if (halted) return { reason: halted, message: "" };
  const isOther = runHash(record.app) !== run.hash;
  if ((isOther || run.restart) && (record.refused?.at ?? 0) > run.createdAt) {
    return { reason: "RolledBack", message: record.refused?.message.split("\n", 1)[0] ?? "" };
  }
  if (run.restart) return { reason: "Restarted", message: "" };
  if (isOther) {
    return { reason: isRestartRequested(record.app, run) ? "Restarted" : "Updated", message: "" };
  }
  if (view.exit && view.exit.code !== 0) {
    const message = wasKilled(view) && ownKills(record, run, view) > 0
      ? outOfMemory(record.app)
      : `the script ended with status ${view.exit.code} and left processes behind`;
    return { reason: "ScriptFailed", message };
  }
  if (eviction !== undefined) return { reason: "Evicted", message: eviction };
  return probeFailure === undefined ? undefined : { reason: "ProbeFailed", message: probeFailure };
}

/** Reports whether the app is being deleted: its object exists until its finalizers are removed. */
function isDeleted({ app }: AppRecord): boolean {
  return app.metadata.deletionTimestamp !== undefined;
}

/** Reports whether a restart was requested after this run was created. */
function isRestartRequested({ metadata }: RunnableApp, { createdAt }: Run): boolean {
  return Date.parse(metadata.annotations?.[annotations.restartedAt] ?? "") >= createdAt;
}
