/** Turns probe results into verdicts: a threshold says how many equal results in a row it takes. Pure. */
import type { DefaultedProbe } from "../../api/types.ts";
import type { ProbeResult } from "./probe-result.ts";

export type ProbeKind = "startup" | "liveness" | "readiness";

/** Successes or failures in a row, and the last verdict. */
export interface ProbeState {
  successes: number;
  failures: number;
  verdict?: "passed" | "failed";
}

export const noResults: ProbeState = { successes: 0, failures: 0 };

export function observeProbe(state: ProbeState, { ok }: ProbeResult, probe: DefaultedProbe): ProbeState {
  const successes = ok ? state.successes + 1 : 0;
  const failures = ok ? 0 : state.failures + 1;
  if (ok && successes >= probe.successThreshold) return { successes, failures, verdict: "passed" };
  if (!ok && failures >= probe.failureThreshold) return { successes, failures, verdict: "failed" };
  return { successes, failures, verdict: state.verdict };
}

/** The message for a failed probe, in the kubelet's words. */
export function failureMessage(kind: ProbeKind, { message }: ProbeResult): string {
  return `${titles[kind]} probe failed: ${message}`;
}

/** The message for a probe that could not be performed. */
export function errorMessage(kind: ProbeKind, { message }: Error): string {
  return `${titles[kind]} probe errored: ${message}`;
}

const titles: Record<ProbeKind, string> = {
  startup: "Startup",
  liveness: "Liveness",
  readiness: "Readiness",
};
