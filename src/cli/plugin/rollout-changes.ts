/** What `rollout pause`, `resume`, `restart`, `promote` and `retry` write into a set, or why they refuse. Pure. */
import { annotations, setAnnotations } from "../../api/names.ts";
import type { NCAppSet } from "../../api/types.ts";
import { rolloutProgress } from "./rollout-progress.ts";
import { describeSet } from "./set-objects.ts";

/** A merge patch, and what to print when it was accepted. */
export interface Change {
  body: object;
  done: string;
}

/** A job is suspended: what runs is stopped. */
export function pauseRollout(set: NCAppSet): Change {
  if (isPaused(set)) {
    throw new Error(`${describeSet(set)} is ${paused(set)} already; ${call(set, "resume")} continues it`);
  }
  return { body: pauseBody(set, true), done: `${describeSet(set)} ${paused(set)}` };
}

export function resumeRollout(set: NCAppSet): Change {
  if (!isPaused(set)) throw new Error(`${describeSet(set)} is not ${paused(set)}`);
  return { body: pauseBody(set, false), done: `${describeSet(set)} resumed` };
}

function isPaused({ spec }: NCAppSet): boolean {
  return (spec.job ? spec.job.suspend : spec.paused) === true;
}

function pauseBody({ spec }: NCAppSet, value: boolean): object {
  return { spec: spec.job ? { job: { suspend: value } } : { paused: value } };
}

function paused({ spec }: NCAppSet): string {
  return spec.job ? "suspended" : "paused";
}

/** Lets the apps of a job that have not completed run again. */
export function retryFailed(set: NCAppSet, now: number): Change {
  const { spec, status: { observedGeneration = 0, failed = 0 } = {}, metadata } = set;
  if (!spec.job) {
    throw new Error(
      `${describeSet(set)} is no job; to try a stopped revision again: ${call(set, "restart")}`,
    );
  }
  const { state } = rolloutProgress(set);
  if (state === "complete") throw new Error(`${describeSet(set)} is complete: there is nothing to retry`);
  if (state !== "failed" && (failed === 0 || observedGeneration < (metadata.generation ?? 1))) {
    throw new Error(`${describeSet(set)} is still running, and no app has failed: there is nothing to retry`);
  }
  const body = { metadata: { annotations: { [setAnnotations.retry]: new Date(now).toISOString() } } };
  return { body, done: `${describeSet(set)}: apps that have not completed run again` };
}

export function restartApps(set: NCAppSet, now: number): Change {
  if (set.spec.job) {
    throw new Error(
      `${describeSet(set)} is a job, and what has completed does not run again: ` +
        `${call(set, "retry")} runs the rest, another set runs all`,
    );
  }
  if (set.spec.paused) {
    throw new Error(`${describeSet(set)} is paused, so nothing would restart: first ${call(set, "resume")}`);
  }
  const template = { metadata: { annotations: { [annotations.restartedAt]: new Date(now).toISOString() } } };
  return { body: { spec: { template } }, done: `${describeSet(set)} is being restarted` };
}

export function promoteCanary(set: NCAppSet): Change {
  const { spec, status = {}, metadata } = set;
  const { updateRevision, stableRevision, observedGeneration = 0 } = status;
  const refuse = (why: string): never => {
    throw new Error(`${describeSet(set)} cannot be promoted: ${why}`);
  };
  if (!spec.update?.canary) refuse("it has no spec.update.canary");
  if (!updateRevision || observedGeneration < (metadata.generation ?? 1)) {
    return refuse("the controller has not seen its last change yet; try again");
  }
  const { state, message } = rolloutProgress(set);
  if (state === "stalled") refuse(`${message}; to go back: ${call(set, "undo")}`);
  if (updateRevision === stableRevision) refuse(`all apps have ${updateRevision} already`);
  if (metadata.annotations?.[setAnnotations.promote] === updateRevision) {
    refuse(`${updateRevision} was promoted already`);
  }
  return {
    body: { metadata: { annotations: { [setAnnotations.promote]: updateRevision } } },
    done: `${describeSet(set)}: ${updateRevision} promoted`,
  };
}

function call({ metadata: { namespace, name } }: NCAppSet, verb: string): string {
  return `'kubectl ncapp rollout ${verb} ${namespace}/${name}'`;
}
