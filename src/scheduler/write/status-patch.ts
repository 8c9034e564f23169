/** The status patches that the scheduler writes. Pure. */
import { withoutRunConditions, withoutRunFields, withTransitionTime } from "../../api/conditions.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Condition } from "../../api/types.ts";
import { isoSeconds } from "../../lib/time.ts";
import type { SchedulerApp } from "../types.ts";

export type StatusChange =
  /** No node fits. `nominated`: the node where preemption frees capacity. */
  | { kind: "refused"; message: string; nominated?: string }
  | { kind: "bound"; node: string }
  | { kind: "lost"; message: string }
  | { kind: "unbound"; reason: Reason; message: string }
  /** A bound app breaks a rule of its namespace; without `broken`, it no longer does. */
  | { kind: "rules"; broken?: { reason: Reason; message: string } };

/** The condition for bound apps that break a LimitRange or a ResourceQuota; others do not have it. */
export const rulesCondition = "WithinNamespaceRules";

/** Reasons that the scheduler itself writes and therefore may clear. */
const ownReasons: readonly (string | undefined)[] = [
  undefined,
  "Unschedulable",
  "NodeLost",
  "Preempted",
  "TaintEviction",
  "PodEvicted",
  "Unbound",
] satisfies (Reason | undefined)[];

/** Returns the merge patch for a change; undefined if the status already shows it or the change no longer applies to the app. */
export function statusPatch(app: SchedulerApp, change: StatusChange, now: number): object | undefined {
  const { status, nodeName } = app;
  switch (change.kind) {
    case "refused": {
      if (nodeName) return undefined;
      const { message, nominated = null } = change;
      const fields = { phase: "Pending", reason: "Unschedulable", message, nominatedNodeName: nominated };
      const waiting = [
        condition("Scheduled", "False", "Unschedulable", message),
        condition("Reconciling", "True", "Unschedulable", message),
      ];
      if (!describesRun(status)) return patchOf(app, waiting, fields, now);
      // Without a node it does not run, even if an agent reported that before.
      const ready = condition("Ready", "False", "Unschedulable", message);
      return patchOf(app, [...waiting, ready], { ...fields, ready: false }, now, true);
    }
    case "bound": {
      if (nodeName !== change.node) return undefined;
      // The node's agent has already reported it.
      const isReported = status.conditions?.some(({ type, status }) =>
        type === "Scheduled" && status === "True"
      );
      if (isReported) return patchOf(app, [], { nominatedNodeName: null }, now);
      const scheduled = condition("Scheduled", "True", "Bound", `bound to node ${change.node}`);
      const isOwnReason = status.phase === "Pending" && ownReasons.includes(status.reason);
      const fields = { nominatedNodeName: null, ...(isOwnReason ? { reason: null, message: null } : {}) };
      return patchOf(app, [scheduled], fields, now);
    }
    case "lost": {
      if (!nodeName || app.finished || status.phase === "Unknown") return undefined;
      const { message } = change;
      const ready = condition("Ready", "Unknown", "NodeLost", message);
      return patchOf(app, [ready], { phase: "Unknown", reason: "NodeLost", message, ready: false }, now);
    }
    case "unbound": {
      if (nodeName) return undefined;
      const { reason, message } = change;
      const conditions = [
        ...["Scheduled", "Ready"].map((type) => condition(type, "False", reason, message)),
        condition("Reconciling", "True", reason, message),
      ];
      return patchOf(app, conditions, { phase: "Pending", reason, message, ready: false }, now, true);
    }
    case "rules": {
      const before = status.conditions?.find(({ type }) => type === rulesCondition);
      if (!change.broken) {
        if (before?.status !== "False") return undefined;
        const message = "the app is within the limits of its namespace";
        return patchOf(app, [condition(rulesCondition, "True", "WithinRules", message)], {}, now);
      }
      const { reason, message } = change.broken;
      // The sums in the message change with every other app.
      if (!nodeName || before?.status === "False" && before.reason === reason) return undefined;
      return patchOf(app, [condition(rulesCondition, "False", reason, message)], {}, now);
    }
  }
}

function describesRun({ phase, conditions = [] }: SchedulerApp["status"]): boolean {
  return phase !== undefined && phase !== "Pending" ||
    conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function condition(type: string, status: Condition["status"], reason: Reason, message: string): Condition {
  return { type, status, reason, message };
}

/** An agent writes `observedGeneration` of the status too: only without a node is it the scheduler's. */
function observedBy({ nodeName, generation }: SchedulerApp): object {
  return nodeName ? {} : { observedGeneration: generation };
}

/** The fields that differ. A merge patch replaces lists as a whole, so it has all conditions. `clears`: it clears the run's fields. */
function patchOf(
  app: SchedulerApp,
  changes: Condition[],
  fields: object,
  now: number,
  clears = false,
): object | undefined {
  const { status, generation } = app;
  const before = status.conditions ?? [];
  const conditions = changes.reduce(
    (list, next) => withCondition(list, { ...next, observedGeneration: generation }, now),
    clears ? withoutRunConditions(before) : [...before],
  );
  const current = status as Record<string, unknown>;
  const changed = Object.entries({ ...fields, ...observedBy(app) }).filter(([field, value]) =>
    (current[field] ?? null) !== value
  );
  const hasConditions = JSON.stringify(conditions) !== JSON.stringify(before);
  if (changed.length === 0 && !hasConditions) return undefined;
  return {
    ...Object.fromEntries(changed),
    ...(clears ? withoutRunFields : {}),
    ...(hasConditions ? { conditions } : {}),
  };
}

function withCondition(list: Condition[], next: Condition, now: number): Condition[] {
  const before = list.find(({ type }) => type === next.type);
  const isSame = before && before.status === next.status && before.reason === next.reason &&
    before.message === next.message;
  const dated = isSame
    // `kubectl wait` ignores a condition of an older generation.
    ? { ...before, observedGeneration: next.observedGeneration }
    : withTransitionTime(next, list, isoSeconds(now));
  return before ? list.map((condition) => condition === before ? dated : condition) : [...list, dated];
}
