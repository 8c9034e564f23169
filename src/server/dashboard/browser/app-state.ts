/** What the state of an app means to a reader. Pure. */
import type { App } from "./agent.ts";

/** Good is fine, warn needs a look or time, bad needs the user; calm is at rest. */
export type Tone = "good" | "warn" | "bad" | "calm";

const bad = ["BackOff", "Failed", "Unknown"];
const atRest = ["Succeeded", "Stopped"];

export function toneOf({ status: { phase = "Unknown", ready } }: App): Tone {
  if (bad.includes(phase)) return "bad";
  if (atRest.includes(phase)) return "calm";
  return phase === "Running" && ready ? "good" : "warn";
}

/** Returns the phase with what explains it: `Running, not ready`, `BackOff: OOMKilled`. */
export function phaseText({ status }: App): string {
  const { phase = "Unknown", reason, ready } = status;
  if (phase === "Running") return ready ? "Running, ready" : "Running, not ready";
  return reason && reason !== phase ? `${phase}: ${reason}` : phase;
}

/** Returns why an app does not run. */
export function messageOf({ status }: App): string {
  if (status.phase === "Running" || status.phase === "Succeeded") return "";
  return status.message ?? "";
}
