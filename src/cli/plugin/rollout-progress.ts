/** What `kubectl ncapp rollout status` says about a set. The controller judges the rollout; here its conditions become words. Pure. */
import { keyOf, setLabels } from "../../api/names.ts";
import type { Condition, NCApp, NCAppSet } from "../../api/types.ts";
import { readRunNote, retryOf } from "../../api/run-note.ts";
import { printableLine } from "../screen/screen.ts";

export interface Progress {
  /** `waiting`: nothing changes until the user does something. `failed`: a job has ended, and not all of its apps have completed. */
  state: "complete" | "stalled" | "failed" | "progressing" | "waiting";
  message: string;
  updated: number;
  available: number;
  desired: number;
  failed: number;
  /** Apps that are updated or, of a job, have completed. */
  done: number;
}

/** Reasons of the condition Progressing for which the user is needed. */
const waitsForUser = ["Paused", "Suspended", "WaitingForPromotion", "WaitingForDeletion", "NameCollision"];

export function rolloutProgress(set: NCAppSet): Progress {
  const { updated = 0, available = 0, desired = 0, failed = 0, observedGeneration = 0 } = set.status ?? {};
  const counts = { updated, available, desired, failed, done: updated };
  const isRetrySeen = !set.spec.job || (set.status?.retry ?? "") === retryOf(set);
  if (observedGeneration < (set.metadata.generation ?? 1) || !isRetrySeen) {
    const message = "waiting for the controller to see the change; if this takes long, check that one runs " +
      "('nckubelet controller', or 'nckubelet agent --with-controller')";
    return { ...counts, state: "progressing", message };
  }
  if (set.spec.job && conditionOf(set, "Complete")) return jobProgress(set);
  const stalled = conditionOf(set, "Stalled");
  if (stalled?.status === "True") {
    return { ...counts, state: "stalled", message: messageOf(stalled, "the rollout was stopped") };
  }
  const { reason = "", ...progressing } = conditionOf(set, "Progressing") ?? {};
  const isComplete = reason === "RolloutComplete" || reason === "PartitionReached" && available >= desired;
  const state = isComplete ? "complete" : waitsForUser.includes(reason) ? "waiting" : "progressing";
  if (state === "progressing" && hasOnlyToleratedFailures(set)) {
    const message =
      `${available} of ${desired} apps are available, ${failed} failed, which maxFailed tolerates`;
    return { ...counts, state: "complete", message };
  }
  const standard = `${updated} of ${desired} apps are updated, ${available} are available`;
  return { ...counts, state, message: messageOf(progressing, standard) };
}

/** The bar of a job shows what has completed, and what is active. */
function jobProgress(set: NCAppSet): Progress {
  const { succeeded = 0, active = 0, desired = 0, failed = 0 } = set.status ?? {};
  const is = (type: string) => conditionOf(set, type)?.status === "True";
  const { reason = "", ...progressing } = conditionOf(set, "Progressing") ?? {};
  const state = is("Complete")
    ? "complete"
    : is("Failed")
    ? "failed"
    : waitsForUser.includes(reason)
    ? "waiting"
    : "progressing";
  const message = messageOf(progressing, `${succeeded} of ${desired} apps have completed`);
  const counts = { updated: succeeded + active, available: succeeded, desired, failed, done: succeeded };
  return { ...counts, state, message };
}

/** Reports whether the progress is final. */
export function hasEnded({ state }: Progress): boolean {
  return state === "complete" || state === "stalled" || state === "failed";
}

/** Reports whether the controller waits for nothing but apps that failed, and tolerates these: then the revision is stable. */
function hasOnlyToleratedFailures({ spec, status = {} }: NCAppSet): boolean {
  const { updated = 0, available = 0, desired = 0, failed = 0, stableRevision, updateRevision } = status;
  return failed > 0 && failed < (spec.update?.maxFailed ?? 1) && updated >= desired &&
    available + failed >= desired && Boolean(stableRevision) && stableRevision === updateRevision;
}

/** Returns a bar of this many characters: updated and available, updated only, and not updated apps. */
export function progressBar({ updated, available, desired }: Progress, width: number): string {
  const part = (count: number) =>
    desired === 0 ? width : Math.floor(Math.min(count, desired) * width / desired);
  const done = part(Math.min(updated, available));
  const started = part(updated);
  return `${"█".repeat(done)}${"▒".repeat(started - done)}${"░".repeat(width - started)}`;
}

/** Returns a line for each app of the new revision, or of the job, that fails: which, where and why. */
export function failingApps(set: NCAppSet, apps: readonly NCApp[]): string[] {
  const hash = (set.status?.updateRevision ?? "").slice(set.metadata.name.length + 1);
  const concerns = ({ metadata }: NCApp) =>
    set.spec.job !== undefined || metadata.labels?.[setLabels.revision] === hash;
  return apps.filter(concerns).flatMap((app) => {
    const isNoted = readRunNote(app).failedAt !== undefined;
    if (!isNoted && !isFailing(app)) return [];
    const { phase = "", reason, message, lastExit } = app.status ?? {};
    // The set suspends an app of a job that has failed, and its phase and message then say nothing of the failure. The
    // last exit is the same before and after, so that the failure is listed once.
    const hasEnded = isNoted || set.spec.job !== undefined && phase === "Failed" && lastExit !== undefined;
    const words = hasEnded
      ? ["Failed", lastExit?.reason, lastExit?.message]
      : [phase, reason === phase ? undefined : reason, message || lastExit?.message];
    const why = words.filter(Boolean).join(": ");
    return printableLine(`${keyOf(app)} on ${app.spec.nodeName || "no node"}: ${why}`);
  });
}

function isFailing({ status: { phase, reason, ready } = {} }: NCApp): boolean {
  return !ready && (phase === "BackOff" || phase === "Failed" || phase === "Pending" && Boolean(reason));
}

function conditionOf(set: NCAppSet, type: string): Condition | undefined {
  return set.status?.conditions?.find((condition) => condition.type === type);
}

function messageOf({ message }: { message?: string }, standard: string): string {
  return printableLine(message || standard);
}
