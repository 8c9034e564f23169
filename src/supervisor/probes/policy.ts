/**
 * What results of probes mean: how many in a row make a verdict. Pure.
 */
import type { DefaultedProbe } from "../../api/types.ts";
import type { ProbeResult } from "./result.ts";

export type ProbeKind = "startup" | "liveness" | "readiness";

/** Successes or failures in a row, and the verdict that they led to last. */
export interface ProbeState {
  successes: number;
  failures: number;
  verdict?: "passed" | "failed";
}

export const untried: ProbeState = { successes: 0, failures: 0 };

/** The state after one more result. */
export function observeProbe(state: ProbeState, { ok }: ProbeResult, probe: DefaultedProbe): ProbeState {
  const successes = ok ? state.successes + 1 : 0;
  const failures = ok ? 0 : state.failures + 1;
  if (ok && successes >= probe.successThreshold) return { successes, failures, verdict: "passed" };
  if (!ok && failures >= probe.failureThreshold) return { successes, failures, verdict: "failed" };
  return { successes, failures, verdict: state.verdict };
}

/** The words of a failed probe, as the kubelet has them. */
export function failureMessage(kind: ProbeKind, { message }: ProbeResult): string {
  return `${names[kind]} probe failed: ${message}`;
}

/** The words of a probe that could not be made. */
export function errorMessage(kind: ProbeKind, { message }: Error): string {
  return `${names[kind]} probe errored: ${message}`;
}

const names: Record<ProbeKind, string> = {
  startup: "Startup",
  liveness: "Liveness",
  readiness: "Readiness",
};
