/**
 * The conditions of an app, as users and programs read them. Pure.
 *
 * Flux, Helm and Argo CD judge an object by these (kstatus): `Reconciling` while it is on its way to what its spec asks for,
 * `Stalled` when it will not get there by itself, otherwise `Ready`. So an app that has succeeded, is suspended or waits for its schedule, which
 * is as it should be, has no `Ready`, like a Job; `Complete`, `Failed` and `Suspended` are those of Jobs.
 */
import type { Reason } from "../api/reasons.ts";
import { isSettled } from "../api/conditions.ts";
import type { Condition, Phase } from "../api/types.ts";
import { capsOf, type CapsState, hasCaps } from "./confinement/confinement.ts";
import { invalidEditMessage, runHash } from "./decide/decide.ts";
import type { AppRecord } from "./types.ts";

export function conditionsOf(record: AppRecord, ready: boolean, caps: CapsState | undefined): Condition[] {
  const observedGeneration = record.app.metadata.generation;
  const condition = (type: string, isTrue: boolean, reason: Reason | Phase, message = ""): Condition => ({
    type,
    status: isTrue ? "True" : "False",
    reason,
    message,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  });
  const { phase, message, app } = record;
  const reason = record.reason || phase;
  const list = [condition("Scheduled", true, "Bound")];
  const settled = isSettled({ spec: app.spec, status: { phase, reason: record.reason } });
  if (ready || !settled) {
    list.push(condition("Ready", ready, readyReason(record, ready), readyMessage(record, ready)));
  }
  const stalled = stallOf(record);
  if (stalled) list.push(condition("Stalled", true, stalled.reason, stalled.message));
  else if (!ready && !settled && record.reason !== "StoppedByOperator") {
    list.push(condition("Reconciling", true, reason, message || whatFails(record)));
  }
  const { refused } = record;
  if (refused) list.push(condition("RolledBack", true, refused.reason, refused.message));
  if (phase === "Succeeded") list.push(condition("Complete", true, "Completed"));
  if (phase === "Failed") list.push(condition("Failed", true, reason, message));
  if (phase === "Stopped" && app.spec.suspend) list.push(condition("Suspended", true, "Suspended"));
  if (record.reason === "LimitsUnavailable") {
    list.push(condition("LimitsEnforced", false, record.reason, message));
  } else if (caps && !hasCaps(capsOf(app)) && !hasEscaped(caps)) {
    // Without cgroups, processes may be lost; that concerns every app.
    list.push(condition("LimitsEnforced", true, "NoLimits", caps.enforced ? "" : caps.message));
  } else if (caps?.enforced) list.push(condition("LimitsEnforced", true, "Enforced"));
  else if (caps) list.push(condition("LimitsEnforced", false, caps.reason, caps.message));
  return list;
}

/** Why the app will not do what its spec asks for until someone changes something. */
function stallOf(record: AppRecord): { reason: Reason | Phase; message: string } | undefined {
  const { phase, reason, message, refused } = record;
  const edit = invalidEditMessage(record);
  if (edit) return { reason: "InvalidSpec", message: edit };
  // What runs is an earlier version.
  if (refused) return refused;
  const isStuck = phase === "Failed" || reason === "InvalidSpec" || reason === "RecordUnreadable";
  return isStuck ? { reason: reason || phase, message } : undefined;
}

/** Why the app is not ready, and which of its probes cannot tell. */
function readyMessage(record: AppRecord, ready: boolean): string {
  const { app, run, phase, message } = record;
  const { startup, liveness, readiness } = phase === "Running" ? run?.probeErrors ?? {} : {};
  const { startupProbe, livenessProbe, readinessProbe } = app.spec;
  const errors = [startupProbe && startup, livenessProbe && liveness, readinessProbe && readiness];
  return [ready ? "" : message || whatFails(record), ...errors].filter(Boolean).join("; ");
}

function readyReason({ phase, reason, run }: AppRecord, ready: boolean): Reason | Phase {
  if (ready) return "Ready";
  return phase === "Running" && run?.unready ? "Unhealthy" : reason || phase;
}

/** Why an app that runs is not ready, if a probe says so. */
function whatFails({ phase, run, app }: AppRecord): string {
  if (phase !== "Running" || !run) return "";
  if (run.hash !== runHash(app)) return "it restarts for a change of its spec";
  if (run.unready) return run.unready;
  const isStarting = app.spec.startupProbe && !run.startupPassed;
  const isKnown = run.probeErrors?.[isStarting ? "startup" : "readiness"] !== undefined;
  if (isKnown || !isStarting && !app.spec.readinessProbe) return "";
  return `the ${isStarting ? "startup" : "readiness"} probe has not passed yet`;
}

/** Processes outside of the app's cgroup escape its cap on processes, too, which every app has. */
function hasEscaped(caps: CapsState): boolean {
  return !caps.enforced && caps.reason === "Escaped";
}
