/** The state of an app in a sentence, and waiting until an app reaches the state that a command wants. */
import { sleep } from "../lib/sleep.ts";
import type { AgentClient, NodeApp } from "./agent-api/agent-api.ts";
import { type AppName, fullName, nameOf, shortName } from "./app-name.ts";

/** What a command achieved; the text says what, or why not. */
export interface Outcome {
  ok: boolean;
  text: string;
}

const pollMs = 100;

/** Polls an app until it is done, the time is up or the signal aborts. Undefined if the app is gone. */
export async function waitForApp(
  client: Pick<AgentClient, "find">,
  app: AppName,
  isDone: (app: NodeApp) => boolean,
  { timeoutMs, signal, now = Date.now }: { timeoutMs: number; signal: AbortSignal; now?: () => number },
): Promise<NodeApp | undefined> {
  for (const giveUpAt = now() + timeoutMs;;) {
    const found = await client.find(app);
    if (!found || isDone(found) || now() >= giveUpAt || signal.aborted) return found;
    await sleep(pollMs, signal);
  }
}

/** How long to wait for a new run of an app that was not running. */
const newRunMs = 3000;

/**
 * Waits until a run after the one of `before` has settled. Times in a status are whole seconds, so a script that ends in the same
 * second as its last run may look unchanged. If nothing was running, the wait is therefore short.
 */
export function waitForNewRun(
  client: Pick<AgentClient, "find">,
  app: AppName,
  before: NodeApp,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<NodeApp | undefined> {
  let hasStarted = false;
  const isDone = (now: NodeApp) => {
    // Nothing runs before its scheduled time.
    if (waitsForSchedule(now)) return true;
    hasStarted ||= !isSettled(now) || runOf(now) !== runOf(before);
    return hasStarted && isSettled(now);
  };
  const waitMs = before.status?.pid === undefined ? newRunMs : timeoutMs;
  return waitForApp(client, app, isDone, { timeoutMs: waitMs, signal });
}

/** Identifies a run of an app: what runs now, and what ended last. */
function runOf({ status = {} }: NodeApp): string {
  return JSON.stringify([status.pid, status.startTime, status.lastExit?.finishedAt]);
}

/** Reports whether the app got as far as it can for now: it runs, it has ended, or something blocks it. */
export function isSettled({ status = {} }: NodeApp): boolean {
  if (status.phase === "Pending") return !transientReasons.has(status.reason ?? "");
  return status.phase !== undefined && status.phase !== "Starting" && status.phase !== "Stopping";
}

/** Reasons that keep an app Pending only for a moment, if its spec wants it to run. */
const transientReasons = new Set(["", "Stopped", "Suspended", "Starting", "Pending", "NodeRebooted"]);

/** Reports whether the app has ended and will not start again by itself. */
export function hasEnded({ status = {} }: NodeApp): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

function waitsForSchedule({ status = {} }: NodeApp): boolean {
  return status.phase === "Pending" && status.reason === "Scheduled" && status.nextRun !== undefined;
}

/** Reports whether an app that was asked to stop has stopped. */
export function isStopped(app: NodeApp): boolean {
  return app.status?.phase === "Pending" || hasEnded(app);
}

/** Describes the state of an app and, if that is a problem, which command shows more. */
export function describeState(app: NodeApp): Outcome {
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
  return {
    ok: false,
    text: `${key} is ${phase}${why && `: ${why}`}; see 'nckubelet ${next} ${shortName(name)}'`,
  };
}

/** How long a stop may take: the app's grace period, and some time for the agent. */
export function stopTimeoutMs({ spec }: NodeApp): number {
  return ((spec.terminationGracePeriodSeconds ?? 30) + 15) * 1000;
}
