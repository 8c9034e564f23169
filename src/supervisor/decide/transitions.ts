/**
 * The steps that the table of states is made of: each a pure function from a record to the next one with its effects.
 */
import { describeExit, endOf, isSuccess } from "./exit.ts";
import { showURL } from "../../api/shown-spec.ts";
import { countKills, withOwnKills } from "./oom-kills.ts";
import { runHash } from "./run-hash.ts";
import type { Decision, Situation } from "./situation.ts";
import type {
  AppEvent,
  AppRecord,
  Effect,
  LastExit,
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
  const run: Run = { id, bootId, hash: runHash(record.app), createdAt: now, leaf: leafOf(id) };
  const next: AppRecord = {
    ...record,
    phase: "Starting",
    reason: "Starting",
    message: "",
    run,
    retryAt: undefined,
    // Without another run that lives, the app's cgroup is made anew.
    countedKills: record.others ? record.countedKills : undefined,
  };
  return act(next, [{ kind: "start", run }], events);
}

export function started(
  record: AppRecord,
  run: Run,
  { at, main }: { at: number; main?: ProcessId },
): Decision {
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
    message: `Started ${scriptOf(record.app)}${main ? ` as process ${main.pid}` : ""}`,
  }]);
}

export function startFailed(
  record: AppRecord,
  run: Run,
  problem: StartProblem,
  { now, nextRun = () => undefined }: Situation,
): Decision {
  const failures = record.failures + 1;
  // No wait outlasts the time at which it would be started anyway.
  const retryAt = Math.min(now + backoffMs(record.app, failures), nextRun(now) ?? Infinity);
  const next: AppRecord = {
    ...record,
    phase: "Pending",
    ...problem,
    failures,
    retryAt,
    lastHash: run.hash,
  };
  return act(withoutRun(next), [{ kind: "cleanUp", run }], [{ type: "Warning", ...problem }]);
}

export function beginStop(
  record: AppRecord,
  run: Run,
  { reason, message }: { reason: StopReason; message: string },
  { now }: Situation,
): Decision {
  const grace = record.app.spec.terminationGracePeriodSeconds;
  const stop = { reason, message, since: now, deadline: now + grace * secondMs };
  // What one script has left behind after its failure is no matter of the other runs.
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
    message: `Stopping: ${stopWords[reason]}${message && `: ${message}`}`,
  };
  return { ...act(next, [], [event]), wakeAt: now };
}

const stopWords: Record<StopReason, string> = {
  Deleted: "the app was deleted or moved away",
  Suspended: "spec.suspend is true",
  Updated: "what runs has changed",
  Restarted: "a restart was asked for",
  Replaced: "the next run is due",
  ProbeFailed: "a probe failed",
  ScriptFailed: "the script failed",
  Evicted: "the node is short of memory",
  AgentStopped: "the agent takes its apps with it",
};

/** The run is over: remember how it ended, then follow the stop's purpose or the restart policy. */
export function finish(record: AppRecord, run: Run, view: RunView, situation: Situation): Decision {
  const exit = describeExit(run, withOwnKills(record, view), {
    app: record.app,
    now: situation.now,
    tail: situation.logTail ?? "",
  });
  const ranMs = endOf(run, view, situation.now) - (run.startedAt ?? run.createdAt);
  const ended: AppRecord = {
    ...countKills(record, view),
    run: undefined,
    lastExit: exit,
    lastHash: run.hash,
    failures: exit.reason === "NodeRebooted" ? 0 : ranMs >= healthyAfterMs ? 1 : record.failures + 1,
  };
  const effects: Effect[] = [{ kind: "cleanUp", run }];
  const events: AppEvent[] = [endEvent(exit)];
  // They are the app's runs now, and what is to become of them is decided there: a withdrawal, for one, has to stop them.
  if (record.others) return act(withoutRun(ended), effects, events);
  const asked = run.stop && run.stop.reason !== "ProbeFailed" && run.stop.reason !== "ScriptFailed";
  if (record.withdrawn || (asked && run.stop?.reason !== "Evicted")) {
    return act(
      { ...ended, phase: "Pending", reason: "Stopped", message: "", failures: 0, retryAt: undefined },
      effects,
      events,
    );
  }
  const policy = record.app.spec.restartPolicy;
  const evicted = run.stop?.reason === "Evicted";
  // What made the node short of memory is not over in seconds.
  const waitMs = evicted ? longestBackoffMs(record.app) : backoffMs(record.app, ended.failures);
  const retryAt = situation.now + waitMs;
  const message = `${exitSummary(exit)}; restarting in ${Math.round(waitMs / secondMs)} s`;
  if (record.app.spec.schedule && evicted) {
    return act(
      { ...ended, phase: "Pending", reason: "Evicted", message, failures: 0, retryAt },
      effects,
      events,
    );
  }
  if (record.app.spec.schedule && (policy !== "OnFailure" || isSuccess(exit))) {
    const next: AppRecord = { ...ended, phase: "Pending", reason: "", message: "", failures: 0 };
    // A run that is still owed need not wait any longer: nothing lives beside it.
    return act({ ...next, retryAt: undefined }, effects, events);
  }
  const done = policy === "Never" || (policy === "OnFailure" && isSuccess(exit));
  if (done) {
    const phase = isSuccess(exit) ? "Succeeded" : "Failed";
    return act(
      { ...ended, phase, reason: exit.reason ?? phase, message: exitSummary(exit) },
      effects,
      events,
    );
  }
  const next: AppRecord = { ...ended, phase: "BackOff", reason: exit.reason ?? "Error", message, retryAt };
  return { ...act(next, effects, events), wakeAt: retryAt };
}

export function endEvent(exit: LastExit): AppEvent {
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
export function mustWait({ app, retryAt }: AppRecord, now: number): boolean {
  return retryAt !== undefined && now < retryAt && retryAt - now <= longestBackoffMs(app);
}

/** The wait before the next try: none without a failure, then the base, doubled for every failure in a row, up to the most. */
export function backoffMs(app: RunnableApp, failures: number): number {
  if (failures === 0) return 0;
  const doubled = app.spec.backoffSeconds * 2 ** Math.min(failures - 1, 30) * secondMs;
  // Never less than a second: a script that is missing would be tried without a pause.
  return Math.max(secondMs, Math.min(longestBackoffMs(app), doubled));
}

function longestBackoffMs({ spec }: RunnableApp): number {
  return Math.max(1, spec.backoffSeconds, spec.maxBackoffSeconds) * secondMs;
}

/** Nothing of the run lives, and nobody is about to say how it ended. */
export function isOver(view: RunView): boolean {
  return view.processes.length === 0 && (view.exit !== undefined || !view.launcherAlive);
}

export function runAndView(record: AppRecord, { view }: Situation): { run: Run; view: RunView } {
  if (!record.run || !view) {
    throw new Error(`an app in phase ${record.phase} must have a run that was looked at`);
  }
  return { run: record.run, view };
}

/** The record when its run is gone: the next of the others, if there is one, is the app's run now. */
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

export function stay(record: AppRecord, reason: string, message: string): Decision {
  const same = record.phase === "Pending" && record.reason === reason && record.message === message;
  return same
    ? unchanged(record)
    : act({ ...record, phase: "Pending", reason, message, retryAt: undefined }, []);
}

export function forget(record: AppRecord): Decision {
  return act(record, [{ kind: "forget" }]);
}

export function unchanged(record: AppRecord): Decision {
  return act(record, []);
}

export function act(record: AppRecord, effects: Effect[], events: AppEvent[] = []): Decision {
  return { record, effects, events };
}

/** The script's name for people; what a URL carries for its server only is left out. */
function scriptOf({ spec }: RunnableApp): string {
  return showURL(spec.shellFile ?? "");
}
