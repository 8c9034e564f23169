/** What is known of one app that is reported about, and what follows from it. No effects. */
import { appKey } from "../../api/names.ts";
import type { NCAppStatus } from "../../api/types.ts";
import { isLater } from "../../kube/resource-version.ts";
import type { KnownStatus, ReportTarget, SendResult } from "./send-status.ts";
import type { Due } from "../due-queue.ts";
import { whenToSend } from "./when-to-send.ts";

/** The object that a status is about. */
export interface ReportedApp extends ReportTarget {
  /** The version of the object that the status beside it was seen in. */
  resourceVersion?: string;
}

/** An app as the reporter has it. */
export interface Entry {
  key: string;
  target: ReportTarget;
  known: KnownStatus;
  wanted?: NCAppStatus;
  /** What the server took last from this agent, and when. */
  sent?: NCAppStatus;
  sentAt: number;
  notBefore: number;
  /** Not to be written: another object has its name, or another node has it. */
  foreign: boolean;
}

/** The times that reports go by. */
export interface ReportTimes {
  /** The least time between two reports of usage alone. */
  periodMs: number;
  /** After this time even a small change of usage goes out. */
  refreshMs: number;
}

/** An app that nothing is known of yet; nothing is sent before `notBefore`. */
export function newEntry(
  { namespace, name, uid }: ReportedApp,
  { now, notBefore, refreshMs, random }: {
    now: number;
    notBefore: number;
    refreshMs: number;
    random: () => number;
  },
): Entry {
  return {
    key: appKey(namespace, name),
    target: { namespace, name, uid },
    known: {},
    // The agent before this one sent it some time ago; spread, so that a thousand apps are not due at once.
    sentAt: now - Math.round(random() * refreshMs),
    notBefore,
    foreign: false,
  };
}

/** When the report of this app is due; undefined where the server has it all, or must not have it. */
export function dueOf(entry: Entry, times: ReportTimes): Due | undefined {
  const { known, wanted, sent, sentAt, notBefore, foreign } = entry;
  if (!wanted || foreign) return undefined;
  const decide = (seen?: NCAppStatus) => whenToSend({ seen, wanted, sentAt, ...times });
  const when = decide(known.status);
  if (when.kind === "not") return undefined;
  if (when.kind === "later") return { at: Math.max(when.at, notBefore), urgent: false };
  // Somebody else wrote over it. Two agents under one name would otherwise correct each other without a pause.
  const isCorrection = sent && decide(sent).kind !== "now";
  return { at: Math.max(isCorrection ? sentAt + times.periodMs : 0, notBefore), urgent: true };
}

/** Takes in how a try ended that was made on what was known `before`. */
export function learnResult(
  entry: Entry,
  before: KnownStatus,
  result: SendResult,
  { now, refreshMs }: { now: number; refreshMs: number },
): void {
  if (result.kind === "foreign") {
    entry.foreign = true;
  } else if (result.kind === "missing") {
    entry.known = {};
    entry.notBefore = now + refreshMs;
  } else {
    if (result.kind === "sent") entry.sentAt = now;
    // A watch may have brought something newer than this answer.
    const isOvertaken = entry.known !== before &&
      isLater(entry.known.resourceVersion, result.known.resourceVersion);
    if (!isOvertaken) entry.known = result.known;
  }
}

/** Takes in what a list or watch brought, which tells only of objects that are bound to this node. */
export function learnSeen(entry: Entry, next: KnownStatus): void {
  const isFirst = !entry.known.status && !entry.known.resourceVersion;
  if (isFirst || isLater(next.resourceVersion, entry.known.resourceVersion)) entry.known = next;
  entry.foreign = false;
}
