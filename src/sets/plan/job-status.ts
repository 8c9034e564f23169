/** The status of a job, and the events about what changed in it. */
import type { Reason } from "../../api/reasons.ts";
import { retryOf } from "../../api/run-note.ts";
import type { Condition, NCAppSetStatus } from "../../api/types.ts";
import { isoSeconds } from "../../lib/time.ts";
import type { App, AppSet, Plan, Revision, SetEvent } from "../types.ts";
import { failureOf, isObserved } from "./health.ts";
import type { Completions } from "./job-completions.ts";
import type { JobRun } from "./job-runs.ts";
import { dated, selectorText, someOf } from "./status.ts";

export interface JobEnd {
  type: "Complete" | "Failed";
  reason: Reason;
  message: string;
  /** In ms since the epoch; NaN if the status does not say. */
  at: number;
}

export interface SeenJob {
  set: AppSet;
  update: Revision;
  runs: readonly JobRun[];
  found: Completions;
  active: number;
  /** Undefined while the job is suspended. */
  startTime?: number;
  end?: JobEnd;
  collisionCount: number;
}

/** Returns how the job has ended, if the status says so. */
export function endOf({ conditions = [] }: NCAppSetStatus = {}): JobEnd | undefined {
  const found = conditions.find(({ type, status }) =>
    (type === "Complete" || type === "Failed") && status === "True"
  );
  if (!found) return undefined;
  const { type, reason, message = "", lastTransitionTime = "" } = found;
  return {
    type: type as JobEnd["type"],
    reason: reason as Reason,
    message,
    at: Date.parse(lastTransitionTime),
  };
}

export function describeJob(seen: SeenJob, now: number): Pick<Plan, "status" | "events"> {
  const { set, update, runs, found, active, startTime, end, collisionCount } = seen;
  const before = set.status ?? {};
  const here = runs.filter(({ app }) => !app.metadata.deletionTimestamp);
  const failed = here.filter(({ state }) => state === "failed");
  const counts = {
    desired: found.desired,
    current: here.length,
    ready: here.filter(({ app, state }) => state === "active" && app.status?.ready === true).length,
    active,
    succeeded: found.completed.size,
    failed: failed.length,
  };
  const progress = `${counts.succeeded} of ${counts.desired} apps have completed, ${active} ${
    active === 1 ? "is" : "are"
  } active, ${failed.length} failed`;
  const status: NCAppSetStatus = {
    observedGeneration: set.metadata.generation ?? 0,
    ...counts,
    replicas: counts.current,
    readyReplicas: counts.ready,
    ...(startTime === undefined ? {} : { startTime: isoSeconds(startTime) }),
    ...(end?.type === "Complete" ? { completionTime: before.completionTime ?? isoSeconds(now) } : {}),
    ...(retryOf(set) ? { retry: retryOf(set) } : {}),
    completedIndexes: found.completedIndexes,
    currentRevision: update.metadata.name,
    updateRevision: update.metadata.name,
    selector: selectorText(set.spec.selector),
    ...(collisionCount > 0 ? { collisionCount } : {}),
    conditions: conditionsOf(seen, { progress, failed }).map((condition) => dated(condition, set, now)),
  };
  return { status, events: eventsOf(seen, before, status) };
}

interface Words {
  progress: string;
  failed: readonly JobRun[];
}

/** Complete, Failed and Suspended are those of a Job; Stalled, Ready and Reconciling are what Flux, Helm and Argo CD judge by (kstatus). */
function conditionsOf({ found, runs, end, startTime }: SeenJob, { progress, failed }: Words): Condition[] {
  const is = (type: string, isTrue: boolean, reason: Reason, message: string): Condition => ({
    type,
    status: isTrue ? "True" : "False",
    reason,
    message,
  });
  const message = end?.type === "Failed" ? `${end.message}: ${progress}${describeFailed(failed)}` : progress;
  if (end) {
    const isComplete = end.type === "Complete";
    return [
      is("Progressing", isComplete, end.reason, message),
      is("Complete", isComplete, end.reason, end.message),
      is("Failed", !isComplete, end.reason, isComplete ? "" : end.message),
      is("Suspended", false, end.reason, ""),
      is("Stalled", !isComplete, isComplete ? "NotStalled" : end.reason, isComplete ? "" : message),
      is("Ready", isComplete, end.reason, message),
    ];
  }
  const isSuspended = startTime === undefined;
  const reason: Reason = isSuspended
    ? "Suspended"
    : found.collisions.length > 0
    ? "NameCollision"
    : "Running";
  const waits = found.waiting.length > 0 ? `; waits for nodes: ${someOf(found.waiting)}` : "";
  const hint = found.collisions.length > 0
    ? `other apps have the names ${someOf(found.collisions)}: `
    : isSuspended
    ? "suspended: "
    : found.desired === 0
    ? `no node matches the placement rules of the template: `
    : "";
  const words = `${hint}${progress}${describeFailed(failed)}${describeStuck(runs)}${waits}`;
  return [
    is("Progressing", reason === "Running", reason, words),
    is("Complete", false, reason, ""),
    is("Failed", false, reason, ""),
    is("Suspended", isSuspended, reason, isSuspended ? "spec.job.suspend is true" : ""),
    is("Stalled", false, "NotStalled", ""),
    is("Ready", isSuspended, reason, words),
    ...(isSuspended ? [] : [is("Reconciling", true, reason, words)]),
  ];
}

/** The apps whose last run failed, their nodes and why. */
function describeFailed(failed: readonly JobRun[]): string {
  const why = ({ status }: App) => status?.lastExit?.reason ?? status?.reason ?? "Failed";
  return failed.length === 0 ? "" : `: ${listApps(failed, why)}`;
}

/** Active apps whose script cannot start: that is tried again until the deadline. */
function describeStuck(runs: readonly JobRun[]): string {
  const why = (app: App) => app.status?.phase === "Pending" ? failureOf(app) : undefined;
  const stuck = runs.filter(({ app, state }) => state === "active" && isObserved(app) && why(app));
  return stuck.length === 0 ? "" : `; cannot start: ${listApps(stuck, (app) => why(app)!)}`;
}

function listApps(runs: readonly JobRun[], why: (app: App) => string): string {
  const words = runs.slice(0, 5).map(({ app }) => {
    const { metadata, spec } = app;
    return `${metadata.name}${spec.nodeName ? ` on node ${spec.nodeName}` : ""} (${why(app)})`;
  });
  return `${words.join(", ")}${runs.length > 5 ? ` and ${runs.length - 5} more` : ""}`;
}

function eventsOf(
  { end, set, startTime }: SeenJob,
  before: NCAppSetStatus,
  { conditions = [] }: NCAppSetStatus,
): SetEvent[] {
  const known = endOf(before);
  const isRetried = (before.retry ?? "") !== retryOf(set);
  const { message = "", reason } = conditions.find(({ type }) => type === "Progressing") ?? {};
  if (end && (!known || isRetried)) {
    const type = end.type === "Complete" ? "Normal" : "Warning";
    return [{ type, reason: end.reason, message: end.type === "Complete" ? end.message : message }];
  }
  const old = before.conditions?.find(({ type }) => type === "Progressing");
  if (isRetried) {
    return [{
      type: "Normal",
      reason: "Retried",
      message: `apps that have not completed run again: ${message}`,
    }];
  }
  if (reason === "NameCollision" && old?.reason !== reason) return [{ type: "Warning", reason, message }];
  if (old?.reason === "Suspended" && startTime !== undefined && !end) {
    return [{ type: "Normal", reason: "Resumed", message }];
  }
  if (reason === "Suspended" && old?.reason !== reason) return [{ type: "Normal", reason, message }];
  return [];
}
