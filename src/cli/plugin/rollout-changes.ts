/** What `rollout pause`, `resume`, `restart` and `promote` write into a set, or why they refuse. Pure. */
import { annotations, setAnnotations } from "../../api/names.ts";
import type { NCAppSet } from "../../api/types.ts";
import { rolloutProgress } from "./rollout-progress.ts";
import { describeSet } from "./set-objects.ts";

/** A merge patch, and what to print when it was accepted. */
export interface Change {
  body: object;
  done: string;
}

export function pauseRollout(set: NCAppSet): Change {
  if (set.spec.paused) {
    throw new Error(`${describeSet(set)} is paused already; ${call(set, "resume")} continues it`);
  }
  return { body: { spec: { paused: true } }, done: `${describeSet(set)} paused` };
}

export function resumeRollout(set: NCAppSet): Change {
  if (!set.spec.paused) throw new Error(`${describeSet(set)} is not paused`);
  return { body: { spec: { paused: false } }, done: `${describeSet(set)} resumed` };
}

export function restartApps(set: NCAppSet, now: number): Change {
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
