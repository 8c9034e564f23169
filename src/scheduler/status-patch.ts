/** What the scheduler writes into the status of apps. Pure. */
import type { Condition } from "../api/types.ts";
import { isoSeconds } from "../lib/time.ts";
import type { AppRecord } from "./types.ts";

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

/** The merge patch of the status that tells the news; undefined where the status says so already. */
export function statusPatch(app: AppRecord, news: StatusNews, now: number): object | undefined {
  const { status, nodeName } = app;
  const set = (conditions: Partial<Condition>[], fields: object) => patchOf(app, conditions, fields, now);
  switch (news.kind) {
    case "refused": {
      if (nodeName) return undefined;
      const scheduled = {
        type: "Scheduled",
        status: "False",
        reason: "Unschedulable",
        message: news.message,
      } as const;
      // Whatever an agent said before: without a node it does not run.
      const ended = status.phase && status.phase !== "Pending" ? { ready: false, ...usage } : {};
      const phase = { phase: "Pending", reason: "Unschedulable", message: news.message, ...ended };
      return set([scheduled], { ...phase, nominatedNodeName: news.nominated ?? null });
    }
    case "bound": {
      if (nodeName !== news.node) return undefined;
      const scheduled = {
        type: "Scheduled",
        status: "True",
        reason: "Bound",
        message: `bound to node ${news.node}`,
      } as const;
      // The node's agent was quicker, and has said so.
      if (status.conditions?.some(({ type, status }) => type === "Scheduled" && status === "True")) {
        return set([], { nominatedNodeName: null });
      }
      const isOwn = status.phase === "Pending" && ownReasons.includes(status.reason);
      return set([scheduled], { ...(isOwn ? { reason: null, message: null } : {}), nominatedNodeName: null });
    }
    case "lost": {
      if (!nodeName || app.finished || status.phase === "Unknown") return undefined;
      const { message } = news;
      const ready = { type: "Ready", status: "Unknown", reason: "NodeLost", message } as const;
      return set([ready], { phase: "Unknown", reason: "NodeLost", message, ready: false });
    }
    case "unbound": {
      if (nodeName) return undefined;
      const { reason, message } = news;
      const conditions = (["Scheduled", "Ready"] as const).map((
        type,
      ) => ({ type, status: "False", reason, message } as const));
      return set(conditions, { phase: "Pending", reason, message, ready: false, ...usage });
    }
  }
}

/** Only what differs. A merge patch replaces lists whole, so all conditions are in it. */
function patchOf(
  { status, generation }: AppRecord,
  news: Partial<Condition>[],
  fields: object,
  now: number,
): object | undefined {
  const conditions = news.reduce<Condition[]>(
    (list, next) => withCondition(list, { ...next, observedGeneration: generation } as Condition, now),
    [...status.conditions ?? []],
  );
  const same = JSON.stringify(conditions) === JSON.stringify(status.conditions ?? []);
  const known = status as Record<string, unknown>;
  const changed = Object.entries(fields).filter(([field, value]) => (known[field] ?? null) !== value);
  // Fields that are not kept are cleared only beside something that is news.
  const isNews = !same || changed.some(([field]) => !(field in usage));
  if (!isNews) return undefined;
  return { ...Object.fromEntries(changed), ...(same ? {} : { conditions }) };
}

function withCondition(list: Condition[], next: Condition, now: number): Condition[] {
  const before = list.find(({ type }) => type === next.type);
  const since = before?.status === next.status ? before.lastTransitionTime : undefined;
  const isSame = before && before.status === next.status && before.reason === next.reason &&
    before.message === next.message;
  const dated = isSame ? before : { ...next, lastTransitionTime: since ?? isoSeconds(now) };
  return before ? list.map((condition) => condition === before ? dated : condition) : [...list, dated];
}
