/** Decides when to send a status: changes that users act on at once, usage rarely (`usageFields`). Pure. */
import type { NCAppStatus } from "../../api/types.ts";
import { statusDelta } from "./delta.ts";

/** `now`: before all usage. `later`: usage only, not before `at`. `not`: the server has everything. */
export type When = { kind: "now" } | { kind: "later"; at: number } | { kind: "not" };

export interface WhenInput {
  /** The status at the server, as far as it is known. */
  seen: NCAppStatus | undefined;
  wanted: NCAppStatus;
  /** When the server got the last one. */
  sentAt: number;
  periodMs: number;
}

/** After this time even a small change of usage is sent. */
export const refreshMs = 300_000;

/** Fields that change all the time; a change of only these can wait. */
const usageFields: ReadonlySet<string> = new Set([
  "cpuPCT",
  "memPCT",
  "memoryBytes",
  "cpuThrottledPCT",
  "processes",
]);

export function whenToSend({ seen, wanted, sentAt, periodMs }: WhenInput): When {
  const delta = statusDelta(seen, wanted);
  if (!delta) return { kind: "not" };
  if (!Object.keys(delta).every((field) => usageFields.has(field))) return { kind: "now" };
  const moved = movedByAPoint(seen?.cpuPCT, wanted.cpuPCT) || movedByAPoint(seen?.memPCT, wanted.memPCT);
  return { kind: "later", at: sentAt + (moved ? Math.min(periodMs, refreshMs) : refreshMs) };
}

/** Reports whether a percentage moved by a point. One that appears or disappears did. */
function movedByAPoint(before: string | undefined, after: string | undefined): boolean {
  if (before === undefined || after === undefined) return before !== after;
  // Both have one decimal: in tenths, 1.2 - 0.2 is exactly a point.
  return Math.abs(Math.round(Number(before) * 10) - Math.round(Number(after) * 10)) >= 10;
}
