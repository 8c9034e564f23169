/** The status patches that the scheduler writes. Pure. */
import { withTransitionTime } from "../../api/conditions.ts";
import type { Condition } from "../../api/types.ts";
import { isoSeconds } from "../../lib/time.ts";
import type { SchedulerApp } from "../types.ts";

export type StatusChange =
  /** No node fits. `nominated`: the node where preemption makes room. */
  | { kind: "refused"; message: string; nominated?: string }
  | { kind: "bound"; node: string }
  | { kind: "lost"; message: string }
  | { kind: "unbound"; reason: string; message: string };

/** Reasons that the scheduler itself writes and therefore may clear. */
const ownReasons: readonly (string | undefined)[] = [
  undefined,
  "Unschedulable",
  "NodeLost",
  "Preempted",
  "TaintEviction",
];

/** Fields that describe a run: they are cleared once the app has no node. */
const runFields: Record<string, null> = {
  pid: null,
  processes: null,
  startTime: null,
  cpuPCT: null,
  memPCT: null,
  memoryBytes: null,
  cpuThrottledPCT: null,
};

/** Returns the merge patch for a change; undefined if the status already shows it or the change no longer applies to the app. */
export function statusPatch(app: SchedulerApp, change: StatusChange, now: number): object | undefined {
  const { status, nodeName } = app;
  switch (change.kind) {
    case "refused": {
      if (nodeName) return undefined;
      const { message, nominated = null } = change;
      const fields = { phase: "Pending", reason: "Unschedulable", message, nominatedNodeName: nominated };
      const scheduled = condition("Scheduled", "False", "Unschedulable", message);
      if (!describesRun(status)) return patchOf(app, [scheduled], fields, now);
      // Without a node it does not run, even if an agent reported that before.
      const ready = condition("Ready", "False", "Unschedulable", message);
      return patchOf(app, [scheduled, ready], { ...fields, ready: false }, now, true);
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
      const conditions = ["Scheduled", "Ready"].map((type) => condition(type, "False", reason, message));
      return patchOf(app, conditions, { phase: "Pending", reason, message, ready: false }, now, true);
    }
  }
}

function describesRun({ phase, conditions = [] }: SchedulerApp["status"]): boolean {
  return phase !== undefined && phase !== "Pending" ||
    conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function condition(type: string, status: Condition["status"], reason: string, message: string): Condition {
  return { type, status, reason, message };
}

/** The fields that differ. A merge patch replaces lists as a whole, so it has all conditions. `clears`: it clears the run's fields. */
function patchOf(
  { status, generation }: SchedulerApp,
  changes: Condition[],
  fields: object,
  now: number,
  clears = false,
): object | undefined {
  const before = status.conditions ?? [];
  const conditions = changes.reduce(
    (list, next) => withCondition(list, { ...next, observedGeneration: generation }, now),
    [...before],
  );
  const current = status as Record<string, unknown>;
  const changed = Object.entries(fields).filter(([field, value]) => (current[field] ?? null) !== value);
  const hasConditions = JSON.stringify(conditions) !== JSON.stringify(before);
  if (changed.length === 0 && !hasConditions) return undefined;
  return {
    ...Object.fromEntries(changed),
    ...(clears ? runFields : {}),
    ...(hasConditions ? { conditions } : {}),
  };
}

function withCondition(list: Condition[], next: Condition, now: number): Condition[] {
  const before = list.find(({ type }) => type === next.type);
  const isSame = before && before.status === next.status && before.reason === next.reason &&
    before.message === next.message;
  const dated = isSame ? before : withTransitionTime(next, list, isoSeconds(now));
  return before ? list.map((condition) => condition === before ? dated : condition) : [...list, dated];
}
