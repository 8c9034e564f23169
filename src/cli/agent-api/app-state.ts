/**
 * What an app is doing, in a sentence, and whether it got to where a command wanted it.
 */
import { appKey } from "../../api/names.ts";
import { sleep } from "../../lib/sleep.ts";
import type { AgentClient } from "./agent-client.ts";
import { type AppName, shortName } from "./app-operand.ts";
import { nameOf, type NodeApp } from "./node-app.ts";

const lookEveryMs = 100;

/** Looks at an app until it is as wanted, the time is over or the signal aborts; undefined when it is gone. */
export async function waitForApp(
  client: Pick<AgentClient, "find">,
  app: AppName,
  isDone: (app: NodeApp) => boolean,
  { timeoutMs, signal, now = Date.now }: { timeoutMs: number; signal: AbortSignal; now?: () => number },
): Promise<NodeApp | undefined> {
  for (const giveUpAt = now() + timeoutMs;;) {
    const found = await client.find(app);
    if (!found || isDone(found) || now() >= giveUpAt || signal.aborted) return found;
    await sleep(lookEveryMs, signal);
  }
}

/** How long a new run of what was not running is waited for. */
const newRunMs = 3000;

/**
 * Waits until a run after that of `before` is settled. Times in a status are whole seconds, so that a script which ends in
 * the second of its last end may look as before: where nothing ran, the wait is short.
 */
export function waitForNewRun(
  client: Pick<AgentClient, "find">,
  app: AppName,
  before: NodeApp,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<NodeApp | undefined> {
  let begun = false;
  const isDone = (now: NodeApp) => {
    // Nothing lives then, and nothing is run before its time.
    if (waitsForSchedule(now)) return true;
    begun ||= !isSettled(now) || runOf(now) !== runOf(before);
    return begun && isSettled(now);
  };
  const patienceMs = before.status?.pid === undefined ? newRunMs : timeoutMs;
  return waitForApp(client, app, isDone, { timeoutMs: patienceMs, signal });
}

/** Tells one run of an app from another: what runs now, and what ended last. */
function runOf({ status = {} }: NodeApp): string {
  return JSON.stringify([status.pid, status.startTime, status.lastExit?.finishedAt]);
}

/** The app has got as far as it gets for now: it runs, it has ended, or something is in its way. */
export function isSettled({ status = {} }: NodeApp): boolean {
  if (status.phase === "Pending") return !passing.has(status.reason ?? "");
  return status.phase !== undefined && status.phase !== "Starting" && status.phase !== "Stopping";
}

/** Reasons to be Pending for a moment only, once the spec wants the app to run. */
const passing = new Set(["", "Stopped", "Suspended", "Starting", "Pending", "NodeRebooted"]);

/** The app has ended and is not started again by itself. */
export function hasEnded({ status = {} }: NodeApp): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

/** The app is where a schedule has it between two runs; one whose schedule has no next time is not. */
function waitsForSchedule({ status = {} }: NodeApp): boolean {
  return status.phase === "Pending" && status.reason === "Scheduled" && status.nextRun !== undefined;
}

/** Nothing of the app runs, and nothing of it will be started by itself. */
export function isStopped(app: NodeApp): boolean {
  return app.status?.phase === "Pending" || hasEnded(app);
}

/** The state of an app and, where that is trouble, what to look at next. */
export function describeState(app: NodeApp): { well: boolean; text: string } {
  const { phase = "Pending", reason, message, pid, nextRun } = app.status ?? {};
  const name = nameOf(app);
  const key = appKey(name.namespace, name.name);
  if (phase === "Running") return { well: true, text: `${key} is running${pid ? ` (pid ${pid})` : ""}` };
  if (phase === "Succeeded") return { well: true, text: `${key} has ended well` };
  if (waitsForSchedule(app)) {
    return { well: true, text: `${key} waits for its schedule: next run at ${nextRun}` };
  }
  const why = message || reason || "";
  const next = phase === "Failed" || phase === "BackOff" ? "logs" : "describe";
  return {
    well: false,
    text: `${key} is ${phase}${why && `: ${why}`}; see 'nckubelet ${next} ${shortName(name)}'`,
  };
}

/** How long a stop may take: the app's grace, and some time for the agent. */
export function stopTimeoutMs({ spec }: NodeApp): number {
  return ((spec.terminationGracePeriodSeconds ?? 30) + 15) * 1000;
}
