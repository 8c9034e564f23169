/** The state of one reported app, and when its report is due. No effects. */
import { appKey } from "../../api/names.ts";
import type { NCAppStatus } from "../../api/types.ts";
import { isLater } from "../../kube/resource-version.ts";
import type { KnownStatus, ReportTarget, SendResult } from "./send-status.ts";
import type { Due } from "../due-queue.ts";
import { refreshMs, whenToSend } from "./when-to-send.ts";

export interface AppReport {
  key: string;
  target: ReportTarget;
  known: KnownStatus;
  wanted?: NCAppStatus;
  /** The last status that the server accepted from this agent, and when. */
  sent?: NCAppStatus;
  sentAt: number;
  notBefore: number;
  /** Must not be written: another object has its name, or it is bound to another node. */
  foreign: boolean;
}

/** Creates the report of an app; nothing is sent before `notBefore`. */
export function newReport(
  { namespace, name, uid }: ReportTarget,
  { now, notBefore, random }: { now: number; notBefore: number; random: () => number },
): AppReport {
  return {
    key: appKey(namespace, name),
    target: { namespace, name, uid },
    known: {},
    // The previous agent sent it some time ago; random, so that a thousand apps are not due at once.
    sentAt: now - Math.round(random() * refreshMs),
    notBefore,
    foreign: false,
  };
}

/** Returns when the report of this app is due; undefined if the server has everything, or must not get it. */
export function dueOf(entry: AppReport, periodMs: number): Due | undefined {
  const { known, wanted, sent, sentAt, notBefore, foreign } = entry;
  if (!wanted || foreign) return undefined;
  const decide = (seen?: NCAppStatus) => whenToSend({ seen, wanted, sentAt, periodMs });
  const when = decide(known.status);
  if (when.kind === "not") return undefined;
  if (when.kind === "later") return { at: Math.max(when.at, notBefore), urgent: false };
  // Another client overwrote it. Without the pause, two agents of the same name would correct each other endlessly.
  const isCorrection = sent && decide(sent).kind !== "now";
  return { at: Math.max(isCorrection ? sentAt + periodMs : 0, notBefore), urgent: true };
}

/** Applies the result of a write that was based on `before`. */
export function applyResult(
  entry: AppReport,
  before: KnownStatus,
  result: SendResult,
  now: number,
): void {
  if (result.kind === "foreign") {
    entry.foreign = true;
  } else if (result.kind === "missing") {
    entry.known = {};
    entry.notBefore = now + refreshMs;
  } else {
    if (result.kind === "sent") entry.sentAt = now;
    // A watch may have delivered a newer version than this answer.
    const isOvertaken = entry.known !== before &&
      isLater(entry.known.resourceVersion, result.known.resourceVersion);
    if (!isOvertaken) entry.known = result.known;
  }
}

/** Applies an object from a list or watch, which deliver only objects that are bound to this node. */
export function applySeen(entry: AppReport, next: KnownStatus): void {
  const isFirst = !entry.known.status && !entry.known.resourceVersion;
  if (isFirst || isLater(next.resourceVersion, entry.known.resourceVersion)) entry.known = next;
  entry.foreign = false;
}
