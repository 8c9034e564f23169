/**
 * How an app of a set does, by what its agent reports.
 *
 * A report counts only if the agent has seen the newest generation of the app and its newest restart: an earlier one describes
 * what ran before. Times of the agent's clock are combined with the time of the update, which the controller wrote.
 */
import { annotations } from "../../api/names.ts";
import { isSettled } from "../../api/conditions.ts";
import type { NCAppSetSpec } from "../../api/types.ts";
import type { App } from "../types.ts";

export interface Health {
  ready: boolean;
  /** It has been ready for `minReadySeconds`, or there is nothing to wait for. */
  available: boolean;
  /** Why it counts as failed, in one word. */
  failed?: string;
  /** When this changes by itself: it becomes available, or its time is up. */
  until?: number;
}

type Times = Pick<NCAppSetSpec, "minReadySeconds" | "progressDeadlineSeconds">;

/** Why apps do not run that is not the fault of what they run. */
const waiting: ReadonlySet<string> = new Set([
  ...["", "Scheduled", "NoShellFile", "Stopped", "StillStopping", "Evicted"],
  ...["Unschedulable", "Preempted", "NodeLost", "NodeRebooted", "TaintEviction", "PodEvicted", "Unbound"],
]);

export function healthOf(
  app: App,
  { minReadySeconds = 10, progressDeadlineSeconds = 600 }: Times,
  now: number,
): Health {
  const { status = {}, metadata } = app;
  const observed = isObserved(app);
  const ready = observed && status.ready === true && !metadata.deletionTimestamp;
  if (metadata.deletionTimestamp) return { ready, available: false };
  const changedAt = Math.max(updatedAt(app), transitionOf(app));
  // The agent keeps the last valid spec in force: the app runs, but not what the set wrote.
  if (observed && isInvalid(status.message)) return { ready, available: false, failed: "InvalidSpec" };
  if (observed && isSettled(app)) return { ready, available: true };
  if (ready) {
    // The time is rounded down to seconds: a script that crashes at once must not count as ready for one.
    const readySince = transitionOf(app) + (minReadySeconds > 0 ? 999 : 0);
    const availableAt = Math.max(updatedAt(app), readySince) + minReadySeconds * 1000;
    return availableAt <= now ? { ready, available: true } : { ready, available: false, until: availableAt };
  }
  const failed = observed ? failureOf(app) : undefined;
  if (failed) return { ready, available: false, failed };
  const deadline = changedAt + progressDeadlineSeconds * 1000;
  return deadline <= now
    ? { ready, available: false, failed: "ProgressDeadlineExceeded" }
    : { ready, available: false, until: deadline };
}

/** Returns when the set created or last updated the app. */
export function updatedAt({ metadata }: App): number {
  const text = metadata.annotations?.[annotations.updatedAt] ?? metadata.creationTimestamp ?? "";
  return Date.parse(text) || 0;
}

/** Reports whether the status describes the app as it is now. */
export function isObserved(app: App): boolean {
  return (app.status?.observedGeneration ?? -1) >= (app.metadata.generation ?? 0) && hasReportedRestart(app);
}

/** A restart changes no generation, so the agent repeats the annotation that asks for it. */
export function hasReportedRestart({ metadata, status }: App): boolean {
  const restart = metadata.annotations?.[annotations.restartedAt];
  return restart === undefined || status?.observedRestartedAt === restart;
}

/** When readiness last changed, by the agent's clock; 0 if unknown. */
function transitionOf({ status }: App): number {
  const condition = status?.conditions?.find(({ type }) => type === "Ready");
  return Date.parse(condition?.lastTransitionTime ?? "") || 0;
}

/** Why the app does not run, if that is the fault of what it runs. */
export function failureOf({ status = {} }: App): string | undefined {
  const { phase, reason = "", lastExit } = status;
  const hasEnded = phase === "BackOff" || phase === "Failed";
  const why = hasEnded ? lastExit?.reason || reason || phase : phase === "Pending" ? reason : "";
  return waiting.has(why) ? undefined : why;
}

function isInvalid(message = ""): boolean {
  return /(^|; )InvalidSpec: /.test(message);
}
