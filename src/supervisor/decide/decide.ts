/**
 * The life of an app as a table: for each phase a function from what is known to what comes next. All pure.
 *
 * Invariants:
 * - A decision's record is on disk before its effects are performed; performing an effect twice does no harm.
 * - A run is in the record from before its launcher is spawned until nothing of it is left, so there is never a second one.
 * - Nothing but a withdrawal by the source, or the spec itself, stops a healthy app.
 */
import { annotations } from "../../api/names.ts";
import { tellInvalid } from "./merge-desired.ts";
import { describeExit, outOfMemory } from "./exit.ts";
import { countKills, withOwnKills } from "./oom-kills.ts";
import { runHash } from "./run-hash.ts";
import {
  decideScheduled,
  dueAgain,
  isDue,
  refreshSchedule,
  withBegun,
  withNotBegun,
  withoutSchedule,
  withOwed,
} from "./due-runs.ts";
import type { Decision, Situation } from "./situation.ts";
import { withSurvivors } from "./status-pid.ts";
import {
  act,
  beginStop,
  endEvent,
  finish,
  forget,
  isOver,
  mustWait,
  runAndView,
  secondMs,
  start,
  started,
  startFailed,
  stay,
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
  type Desired,
  editMessage,
  mergeDesired,
  mergeProbed,
  newRecord,
  type ProbedRun,
} from "./merge-desired.ts";
export { totalKills } from "./oom-kills.ts";
export { runHash } from "./run-hash.ts";
export type { Situation } from "./situation.ts";
export { shownPid } from "./status-pid.ts";

const claimMs = 10 * secondMs;

/** Decides what an app needs next. */
export function decide(record: AppRecord, situation: Situation): Decision {
  const told = tellInvalid(withSurvivors(record, situation));
  const settled = settleOthers(told.record, situation);
  const { effects, events, ...decision } = table[record.phase](settled.record, situation);
  return {
    ...decision,
    effects: [...settled.effects, ...effects],
    events: [...told.events, ...settled.events, ...events],
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
  // Written by the scheduler about nodes that are gone; a living agent looks afresh.
  Unknown: decidePending,
};

function decidePending(record: AppRecord, situation: Situation): Decision {
  if (record.withdrawn) return forget(record);
  if (situation.halted) return unchanged(record);
  const held = heldBack(record);
  if (held) return held;
  if (record.app.spec.schedule) return decideScheduled(record, situation);
  const isSame = record.lastHash === runHash(record.app);
  if (isSame && mustWait(record, situation.now)) return { ...unchanged(record), wakeAt: record.retryAt };
  return start(record, situation);
}

function decideStarting(record: AppRecord, situation: Situation): Decision {
  const { run, view } = runAndView(record, situation);
  const failed = (problem: StartProblem) => startFailed(withNotBegun(record, run), run, problem, situation);
  const begun = (mark: Parameters<typeof started>[2]) =>
    started(withBegun(record, run, situation), run, mark);
  if (situation.problem) return failed(situation.problem);
  if (view.claim === "cancelled") {
    const next: AppRecord = { ...withNotBegun(record, run), phase: "Pending" };
    return act(withoutRun(next), [{ kind: "cleanUp", run }]);
  }
  if (view.failure) return failed({ reason: "LaunchFailed", message: view.failure });
  if (view.started) return begun(view.started);
  if (view.exit) {
    const message = "the launcher could not open the log or the environment of the run";
    return failed({ reason: "LaunchFailed", message });
  }
  if (view.claim === "launcher" && !view.launcherAlive) {
    return failed({ reason: "LaunchFailed", message: "the launcher ended before the script began" });
  }
  const isOverdue = (situation.waitedMs ?? 0) > claimMs;
  // Its mark was lost, but the script lives: what runs is not started a second time.
  if (isOverdue && view.processes.length > 0) return begun({ at: run.createdAt });
  // A launcher claims its run within moments. One that has not by now is called off, for certain: then it can be tried anew.
  const cancel: Effect[] = isOverdue && view.claim === "none" ? [{ kind: "cancel", run }] : [];
  return { ...act(record, cancel), wakeAt: situation.now + secondMs };
}

function decideRunning(record: AppRecord, situation: Situation): Decision {
  const { run, view } = runAndView(record, situation);
  if (isOver(view)) return finish(withOwed(record, run), run, view, situation);
  const reason = reasonToStop(record, run, view, situation);
  if (reason) return beginStop(record, run, reason, situation);
  const refreshed = refreshSchedule(record, situation);
  if (refreshed !== record) return act(refreshed, []);
  // Under Allow, a start beside this run may have failed.
  const waits = mustWait(record, situation.now);
  if (isDue(record, situation) && !waits) return dueAgain(record, run, situation);
  const wakeAt = waits ? record.retryAt : record.scheduled?.nextRun;
  const decision = { ...act(record, [{ kind: "limits" }]), wakeAt };
  // The script is gone and its launcher is about to say how.
  return view.processes.length === 0 ? { ...decision, wakeAt: situation.now + secondMs } : decision;
}

function decideStopping(record: AppRecord, situation: Situation): Decision {
  const { run, view } = runAndView(record, situation);
  const others = (record.others ?? []).filter(({ stop }) => stop);
  if (isOver(view) && others.length === 0) return finish(withOwed(record, run), run, view, situation);
  const { since, deadline } = run.stop ?? { since: situation.now, deadline: situation.now };
  const each = (kind: "kill" | "terminate") => [run, ...others].map((run): Effect => ({ kind, run }));
  // Before the stop began: the clock was set back, and the wait might take for ever.
  if (situation.now >= deadline || situation.now < since) {
    return { ...act(record, each("kill")), wakeAt: situation.now + secondMs };
  }
  if (situation.terminated) {
    return { ...unchanged(record), wakeAt: Math.min(deadline, situation.now + secondMs) };
  }
  const stopFile: Effect[] = record.app.spec.stopFile ? [{ kind: "stopFile", run }] : [];
  return { ...act(record, [...stopFile, ...each("terminate")]), wakeAt: deadline };
}

function decideBackOff(record: AppRecord, situation: Situation): Decision {
  if (record.withdrawn) return forget(record);
  if (situation.halted) return unchanged(record);
  const held = heldBack(record);
  if (held) return held;
  if (runHash(record.app) !== record.lastHash) return start({ ...record, failures: 0 }, situation);
  if (isDue(record, situation)) return decideScheduled({ ...record, retryAt: undefined }, situation);
  if (mustWait(record, situation.now)) return { ...unchanged(record), wakeAt: record.retryAt };
  return start({ ...record, restarts: record.restarts + 1 }, situation);
}

function decideTerminal(record: AppRecord, situation: Situation): Decision {
  if (record.withdrawn) return forget(record);
  if (situation.halted || record.invalid) return unchanged(record);
  if (record.app.spec.schedule) return decideScheduled(record, situation);
  if (runHash(record.app) === record.lastHash) return unchanged(record);
  // Something else is to run now: what an app that waits needs is decided there.
  return act({ ...record, phase: "Pending", reason: "", message: "", failures: 0, retryAt: undefined }, []);
}

/** What the spec has against a start. */
function heldBack(record: AppRecord): Decision | undefined {
  const { shellFile, suspend } = record.app.spec;
  if (record.invalid) return stay(record, "InvalidSpec", record.invalid);
  if (!shellFile) return stay(record, "NoShellFile", "spec.shellFile is empty: there is nothing to run yet");
  return suspend ? stay(withoutSchedule(record), "Suspended", "spec.suspend is true") : undefined;
}

/** Other runs that are over are remembered and cleared away, whatever the phase. */
function settleOthers(record: AppRecord, situation: Situation): Decision {
  const { others = [] } = record;
  const views = situation.others ?? [];
  const over = others.filter((_, index) => views[index] && isOver(views[index]));
  if (over.length === 0) return unchanged(record);
  const context = { app: record.app, now: situation.now, tail: "" };
  const ends = over.map((run) => ({ run, view: views[others.indexOf(run)]! }));
  const exits = ends.map(({ run, view }) => describeExit(run, withOwnKills(record, view), context));
  const counted = ends.reduce((record, { view }) => countKills(record, view), record);
  const left = others.filter((run) => !over.includes(run));
  const next = { ...counted, others: left.length > 0 ? left : undefined, lastExit: exits.at(-1) };
  return act(next, over.map((run): Effect => ({ kind: "cleanUp", run })), exits.map(endEvent));
}

function reasonToStop(
  record: AppRecord,
  run: Run,
  view: RunView,
  { probeFailure, eviction, halted }: Situation,
): { reason: StopReason; message: string } | undefined {
  if (record.withdrawn) return { reason: "Deleted", message: "" };
  if (record.app.spec.suspend) return { reason: "Suspended", message: "" };
  if (halted) return { reason: "AgentStopped", message: "" };
  if (runHash(record.app) !== run.hash) {
    return { reason: wasAskedFor(record.app, run) ? "Restarted" : "Updated", message: "" };
  }
  if (view.exit && view.exit.code !== 0) {
    const message = withOwnKills(record, view).oomKills > 0
      ? outOfMemory(record.app)
      : `the script ended with status ${view.exit.code} and left processes behind`;
    return { reason: "ScriptFailed", message };
  }
  if (eviction !== undefined) return { reason: "Evicted", message: eviction };
  return probeFailure === undefined ? undefined : { reason: "ProbeFailed", message: probeFailure };
}

/** Whether a restart was asked for after this run was begun. */
function wasAskedFor({ metadata }: RunnableApp, { createdAt }: Run): boolean {
  return Date.parse(metadata.annotations?.[annotations.restartedAt] ?? "") >= createdAt;
}
