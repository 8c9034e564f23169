/** The state of an app in a sentence, and waiting until an app reaches the state that a command wants. */
import { longestTimerMs, sleep } from "../lib/sleep.ts";
import { runTime } from "../supervisor/run-ref.ts";
import type { AgentClient, NodeApp } from "./agent-api/agent-api.ts";
import { type AppName, fullName, nameOf, shortName } from "./app-name.ts";
import type { Io } from "./command.ts";

/** What a command achieved; the text says what, or why not. */
export interface Outcome {
  ok: boolean;
  text: string;
  /** The exit status of the command, if it is not 0 or 1. */
  status?: number;
}

/** Prints an outcome; returns the exit code. */
export function report({ ok, text, status }: Outcome, io: Pick<Io, "stdout" | "stderr">): number {
  if (ok) io.stdout(`${text}\n`);
  else io.stderr(`nckubelet: ${text}\n`);
  return status ?? (ok ? 0 : 1);
}

/** What a wait needs of the agent. */
type Watched = Pick<AgentClient, "find" | "watch">;

/** How long to wait before an app is watched again, if the agent ended the watch. */
const retryMs = 100;

/** Follows an app until it is done, the time is up or the signal aborts. Undefined if the app is gone. */
export async function waitForApp(
  client: Watched,
  app: AppName,
  isDone: (app: NodeApp) => boolean,
  { timeoutMs, signal, now = Date.now }: { timeoutMs: number; signal: AbortSignal; now?: () => number },
): Promise<NodeApp | undefined> {
  const giveUpAt = now() + timeoutMs;
  const within = AbortSignal.any([signal, AbortSignal.timeout(Math.max(0, timeoutMs))]);
  for (; !within.aborted; await sleep(retryMs, within)) {
    for await (const found of client.watch(app, within)) {
      if (!found || isDone(found) || now() >= giveUpAt) return found;
    }
  }
  return await client.find(app);
}

/** How long a run must last until a command takes it for running: a script with a mistake ends at once. */
const steadyMs = 1000;

/** As waitForApp(), but what runs must be the same run for a moment. */
export async function waitUntilSteady(
  client: Watched,
  app: AppName,
  isDone: (app: NodeApp) => boolean,
  { timeoutMs, signal, now = Date.now }: { timeoutMs: number; signal: AbortSignal; now?: () => number },
): Promise<NodeApp | undefined> {
  for (const giveUpAt = now() + timeoutMs;;) {
    const found = await waitForApp(client, app, isDone, { timeoutMs: giveUpAt - now(), signal, now });
    if (!found || !isRunning(found) || now() >= giveUpAt || signal.aborted) return found;
    const hasChanged = (later: NodeApp) => runOf(later) !== runOf(found);
    const later = await waitForApp(client, app, hasChanged, { timeoutMs: steadyMs, signal, now });
    if (!later || !hasChanged(later)) return later;
  }
}

/** How long to wait for a new run of an app that was not running. */
const newRunMs = 3000;

/**
 * Waits until a run after the one of `before` has settled. Times in a status are whole seconds, so a script that ends in the same
 * second as its last run may look unchanged. So the wait for its start is short, unless a new run shows for certain.
 */
export async function waitForNewRun(
  client: Watched,
  before: NodeApp,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<NodeApp | undefined> {
  const app = nameOf(before);
  let hasStarted = false;
  const isDone = (now: NodeApp) => {
    // Nothing runs before its scheduled time.
    if (waitsForSchedule(now)) return true;
    hasStarted ||= !isSettled(now) || runOf(now) !== runOf(before);
    return hasStarted && isSettled(now);
  };
  const { pid, phase = "" } = before.status ?? {};
  const looksNew = pid !== undefined || phase === "Stopped" || phase === "BackOff";
  if (!looksNew) {
    await waitForApp(client, app, (now) => isDone(now) || hasStarted, { timeoutMs: newRunMs, signal });
    return await waitForApp(client, app, isSettled, { timeoutMs, signal });
  }
  return await waitForApp(client, app, isDone, { timeoutMs, signal });
}

/** Waits until an app whose version was replaced has settled. Not every version needs a new run, so the wait for one is short. */
export async function waitForVersion(
  client: Watched,
  before: NodeApp,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<NodeApp | undefined> {
  const app = nameOf(before);
  const hasChanged = (now: NodeApp) => runOf(now) !== runOf(before);
  await waitForApp(client, app, hasChanged, { timeoutMs: newRunMs, signal });
  return await waitForApp(client, app, isSettled, { timeoutMs, signal });
}

/** Waits for the run of an app with a schedule that was triggered, until it runs or has ended, and says how it is. */
export async function waitForTriggeredRun(
  client: Watched,
  before: NodeApp,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<Outcome> {
  const name = nameOf(before);
  const hasRun = (now: NodeApp) => isSettled(now) && runOf(now) !== runOf(before);
  const after = await waitForApp(client, name, hasRun, { timeoutMs, signal });
  if (!after) return wasDeleted(name);
  if (!waitsForSchedule(after)) return describeState(after);
  if (!hasRun(after)) return { ok: false, text: `${fullName(name)} has not run yet` };
  const { lastExit, nextRun } = after.status ?? {};
  const ended = lastExit?.code === undefined ? "has ended" : `ended with status ${lastExit.code}`;
  const ok = lastExit?.reason === "Completed";
  return { ok, text: `${fullName(name)} was run and ${ended}; next run at ${nextRun}` };
}

/**
 * Waits for the end of the run of an app with a schedule that was triggered at `since`. Its exit status becomes that of the command; a run
 * that was stopped or whose status is unknown has not succeeded.
 */
export async function waitForTriggeredEnd(
  client: Watched,
  before: NodeApp,
  { since, startTimeoutMs, signal }: { since: number; startTimeoutMs: number; signal: AbortSignal },
): Promise<Outcome> {
  const name = nameOf(before);
  // Under Replace, the old run has its grace period first.
  const timeoutMs = startTimeoutMs + (isRunning(before) ? stopTimeoutMs(before) : 0);
  const stateOf = ({ status = {} }: NodeApp) => JSON.stringify([status.phase, status.reason, status.message]);
  const isBlocked = (now: NodeApp) =>
    isSettled(now) && !isRunning(now) && !waitsForSchedule(now) && stateOf(now) !== stateOf(before);
  const hasBegun = (now: NodeApp) => firstRunSince(now, since) !== undefined || isBlocked(now);
  const begun = await waitForApp(client, name, hasBegun, { timeoutMs, signal });
  if (!begun) return wasDeleted(name);
  const id = firstRunSince(begun, since);
  const exitOf = (app: NodeApp) => endedRuns(app).find((exit) => exit.id === id);
  const hasEnded = (now: NodeApp) => exitOf(now) !== undefined;
  const ended = id === undefined
    ? begun
    : await waitForApp(client, name, hasEnded, { timeoutMs: longestTimerMs, signal });
  if (!ended) return wasDeleted(name);
  const exit = exitOf(ended);
  if (id === undefined || !exit) return { ...describeState(ended), ok: false };
  const { code, signal: by, reason = "" } = exit;
  const how = code === undefined ? "ended with unknown status" : `ended with status ${code}`;
  const ok = reason === "Completed";
  return {
    ok,
    text: `${fullName(name)} ${how}${by ? ` (${by})` : ""}: ${reason}`,
    status: ok ? 0 : code || 1,
  };
}

/** Returns the id of the first run that was created since then. Ids begin with that time, so their order is that of the runs. */
function firstRunSince(app: NodeApp, since: number): string | undefined {
  const ids = [app.agent?.run, ...endedRuns(app).map(({ id }) => id)];
  return ids.filter((id) => id !== undefined && runTime(id) >= since).sort()[0];
}

function endedRuns({ status = {} }: NodeApp) {
  return [...(status.lastExit ? [status.lastExit] : []), ...status.recentRuns ?? []];
}

/** Identifies a run of an app: what runs now, how often it was restarted, and what ended last. */
function runOf({ status = {} }: NodeApp): string {
  const { phase, pid, startTime, restarts, lastExit } = status;
  return JSON.stringify([phase, pid, startTime, restarts, lastExit?.finishedAt]);
}

/** Reports whether the app got as far as it can for now: it runs, it has ended, or something blocks it. */
export function isSettled({ status = {} }: NodeApp): boolean {
  if (status.phase === "Pending") return !transientReasons.has(status.reason ?? "");
  return status.phase !== undefined && status.phase !== "Starting" && status.phase !== "Stopping";
}

/** Reasons that keep an app Pending only for a moment, if its spec wants it to run. */
const transientReasons = new Set(["", "Stopped", "Starting", "Pending", "NodeRebooted", "RolledBack"]);

/** Reports whether the app has ended and will not start again by itself. */
export function hasEnded({ status = {} }: NodeApp): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

function waitsForSchedule({ status = {} }: NodeApp): boolean {
  return status.phase === "Pending" && status.reason === "Scheduled" && status.nextRun !== undefined;
}

/** Reports whether the app runs already: there is nothing to start. */
export function isRunning({ status = {} }: NodeApp): boolean {
  return status.phase === "Running";
}

/** Reports whether an app that was asked to stop has stopped. */
function isStopped(app: NodeApp): boolean {
  return app.status?.phase === "Stopped";
}

/** Describes the state of an app and, if that is a problem, which command shows more, unless there will be nothing to show. */
export function describeState(app: NodeApp, { goes = false } = {}): Outcome {
  const { phase = "Pending", reason, message, pid, nextRun } = app.status ?? {};
  const name = nameOf(app);
  const key = fullName(name);
  if (phase === "Running") return { ok: true, text: `${key} is running${pid ? ` (pid ${pid})` : ""}` };
  if (phase === "Succeeded") return { ok: true, text: `${key} has succeeded` };
  if (waitsForSchedule(app)) {
    return { ok: true, text: `${key} waits for its schedule: next run at ${nextRun}` };
  }
  const why = message || reason || "";
  const next = phase === "Failed" || phase === "BackOff" ? "logs" : "describe";
  const hint = goes ? "" : `; see 'nckubelet ${next} ${shortName(name)}'`;
  return { ok: false, text: `${key} is ${phase}${why && `: ${why}`}${hint}` };
}

/** Waits until an app that was asked to stop has stopped. */
export async function waitForStop(
  client: Watched,
  app: NodeApp,
  { signal, now }: { signal: AbortSignal; now?: () => number },
): Promise<Outcome> {
  const name = nameOf(app);
  const after = await waitForApp(client, name, isStopped, { timeoutMs: stopTimeoutMs(app), signal, now });
  if (!after) return wasDeleted(name);
  if (!isStopped(after)) return { ...describeState(after), ok: false };
  return {
    ok: true,
    text: `${fullName(name)} is stopped; 'nckubelet start ${shortName(name)}' starts it again`,
  };
}

/** Waits until an app that was asked to go is gone. */
export async function waitForRemoval(
  client: Watched,
  app: NodeApp,
  { signal, now }: { signal: AbortSignal; now?: () => number },
): Promise<Outcome> {
  const name = nameOf(app);
  const left = await waitForApp(client, name, () => false, { timeoutMs: stopTimeoutMs(app), signal, now });
  return left ? { ...describeState(left), ok: false } : { ok: true, text: `${fullName(name)} is deleted` };
}

export function wasDeleted(app: AppName): Outcome {
  return { ok: false, text: `${fullName(app)} was deleted in the meantime` };
}

/** How long a stop may take: the app's grace period, and some time for the agent. */
export function stopTimeoutMs({ spec }: NodeApp): number {
  return ((spec.terminationGracePeriodSeconds ?? 30) + 15) * 1000;
}
