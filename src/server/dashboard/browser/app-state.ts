/** What the state of an app means to a reader. Pure. */
import { countDown } from "../../../lib/time.ts";
import type { App } from "./agent.ts";

/** Good is fine, warn needs a look or time, bad needs the user; calm is at rest. */
export type Tone = "good" | "warn" | "bad" | "calm";

const bad = ["BackOff", "Failed", "Unknown"];
const atRest = ["Succeeded", "Stopped"];

export function toneOf({ status: { phase = "Unknown", reason, ready, lastExit } }: App): Tone {
  if (bad.includes(phase)) return "bad";
  // It waits for its next run: fine, unless the last one failed.
  const isWaiting = phase === "Pending" && reason === "Scheduled";
  if (isWaiting && (!lastExit || lastExit.reason === "Completed")) return "calm";
  if (atRest.includes(phase)) return "calm";
  return phase === "Running" && ready ? "good" : "warn";
}

/** Returns the phase with what explains it: `Running, not ready`, `BackOff: OOMKilled`. */
export function phaseText({ status }: App): string {
  const { phase = "Unknown", reason, ready } = status;
  if (phase === "Running") return ready ? "Running, ready" : "Running, not ready";
  return reason && reason !== phase ? `${phase}: ${reason}` : phase;
}

/** Returns why an app does not run, and how long until it is tried again, or why it is not ready. */
export function messageOf({ status }: App, now = Date.now()): string {
  if (status.phase === "Succeeded") return "";
  if (status.phase === "Running") {
    return status.conditions?.find(({ type, status }) => type === "Ready" && status === "False")?.message ??
      "";
  }
  return countDown(status.message ?? "", now);
}
