/** What the scheduler writes into the status of apps. Pure. */
import { withTransitionTime } from "../../api/conditions.ts";
import type { Condition } from "../../api/types.ts";
import { isoSeconds } from "../../lib/time.ts";
import type { AppRecord } from "../types.ts";

export type StatusNews =
  /** No node will do; `nominated`: room is being made there. */
  | { kind: "refused"; message: string; nominated?: string }
  | { kind: "bound"; node: string }
  /** Its node is not heard of. */
  | { kind: "lost"; message: string }
  /** It was taken off its node. */
  | { kind: "unbound"; reason: string; message: string };

/** Reasons of phases that the scheduler wrote and therefore may take back. */
const ownReasons: readonly (string | undefined)[] = [
  undefined,
  "Unschedulable",
  "NodeLost",
  "Preempted",
  "TaintEviction",
];

/** What a run leaves in the status, and what is not true any more once the app is off its node. */
const usage: Record<string, null> = {
  pid: null,
  processes: null,
  startTime: null,
  cpuPCT: null,
  memPCT: null,
  memoryBytes: null,
  cpuThrottledPCT: null,
};

/** The merge patch of the status that tells the news; undefined where the status says so already, or the app has moved on. */
export function statusPatch(app: AppRecord, news: StatusNews, now: number): object | undefined {
  const { status, nodeName } = app;
  switch (news.kind) {
    case "refused": {
      if (nodeName) return undefined;
      const { message, nominated = null } = news;
      const fields = { phase: "Pending", reason: "Unschedulable", message, nominatedNodeName: nominated };
      const scheduled = condition("Scheduled", "False", "Unschedulable", message);
      if (!saysItRuns(status)) return patchOf(app, [scheduled], fields, now);
      // Whatever an agent said before: without a node it does not run.
      const ready = condition("Ready", "False", "Unschedulable", message);
      return patchOf(app, [scheduled, ready], { ...fields, ready: false }, now, true);
    }
    case "bound": {
      if (nodeName !== news.node) return undefined;
      // The node's agent was quicker, and has said so.
      const isTold = status.conditions?.some(({ type, status }) => type === "Scheduled" && status === "True");
      if (isTold) return patchOf(app, [], { nominatedNodeName: null }, now);
      const scheduled = condition("Scheduled", "True", "Bound", `bound to node ${news.node}`);
      const isOwn = status.phase === "Pending" && ownReasons.includes(status.reason);
      const fields = { nominatedNodeName: null, ...(isOwn ? { reason: null, message: null } : {}) };
      return patchOf(app, [scheduled], fields, now);
    }
    case "lost": {
      if (!nodeName || app.finished || status.phase === "Unknown") return undefined;
      const { message } = news;
      const ready = condition("Ready", "Unknown", "NodeLost", message);
      return patchOf(app, [ready], { phase: "Unknown", reason: "NodeLost", message, ready: false }, now);
    }
    case "unbound": {
      if (nodeName) return undefined;
      const { reason, message } = news;
      const conditions = ["Scheduled", "Ready"].map((type) => condition(type, "False", reason, message));
      return patchOf(app, conditions, { phase: "Pending", reason, message, ready: false }, now, true);
    }
  }
}

/** True where a run has left words that are not true without a node. */
function saysItRuns({ phase, conditions = [] }: AppRecord["status"]): boolean {
  return phase !== undefined && phase !== "Pending" ||
    conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function condition(type: string, status: Condition["status"], reason: string, message: string): Condition {
  return { type, status, reason, message };
}

/** Only what differs. A merge patch replaces lists whole, so all conditions are in it. `clears`: usage goes with it. */
function patchOf(
  { status, generation }: AppRecord,
  news: Condition[],
  fields: object,
  now: number,
  clears = false,
): object | undefined {
  const before = status.conditions ?? [];
  const conditions = news.reduce(
    (list, next) => withCondition(list, { ...next, observedGeneration: generation }, now),
    [...before],
  );
  const known = status as Record<string, unknown>;
  const changed = Object.entries(fields).filter(([field, value]) => (known[field] ?? null) !== value);
  const hasConditions = JSON.stringify(conditions) !== JSON.stringify(before);
  if (changed.length === 0 && !hasConditions) return undefined;
  return {
    ...Object.fromEntries(changed),
    ...(clears ? usage : {}),
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
