import type { Schema } from "./schema-type.ts";
import { condition, observedGeneration, unseen } from "./status.ts";

const time = (description: string) =>
  ({ type: "string", format: "date-time", description }) as const satisfies Schema;
const text = (description: string) => ({ type: "string", description }) as const satisfies Schema;
const count = (description: string) =>
  ({ type: "integer", format: "int64", description, minimum: 0 }) as const satisfies Schema;

/** The schema of the status of an NCAppSet. The sets controller computes it (sets/plan/status.ts). */
export const setStatus = {
  type: "object",
  description: "State of the set as the controller last observed it.",
  default: unseen,
  properties: {
    observedGeneration: observedGeneration("Generation of the spec that this status describes."),
    desired: count("Number of apps that there should be."),
    current: count("Number of apps that there are, without those that are being deleted."),
    updated: count("Number of apps that have the newest revision."),
    ready: count("Number of apps that are ready."),
    available: count("Number of apps that have been ready for minReadySeconds."),
    replicas: count("The same as `current`, for programs that know Deployments."),
    readyReplicas: count("The same as `ready`."),
    updatedReplicas: count("The same as `updated`."),
    availableReplicas: count("The same as `available`."),
    unavailable: count("Number of apps that are missing or not available."),
    failed: count(
      "Number of apps that crash, cannot start, or did not become available within progressDeadlineSeconds; of a job, whose last run " +
        "failed.",
    ),
    active: count("Of a job: number of apps that run, may run on a lost node, or have not stopped yet."),
    succeeded: count("Of a job: number of apps that have completed."),
    startTime: time(
      "Of a job: when it started, was resumed or was retried last. Absent while it is suspended.",
    ),
    completionTime: time("Of a job: when it was complete."),
    retry: text("Of a job: the annotation app.example.com/retry that this status describes."),
    completedIndexes: text(
      "Of a job: the numbers or nodes of the apps that have completed, such as `0-3,7` or `edge-1,edge-2`. They do not run again, even " +
        "if someone deletes the app.",
    ),
    currentRevision: text("Revision of the apps that are not updated yet."),
    updateRevision: text("Revision of the template, to which apps are updated."),
    stableRevision: text("Last revision that all apps had while they were available."),
    stoppedRollout: text(
      "Hash of the template and overrides whose rollout was stopped because apps failed. Empty if there is none.",
    ),
    selector: text("The selector as text, for the scale subresource."),
    collisionCount: count("Number of times that the name of a revision was taken."),
    conditions: {
      type: "array",
      description:
        "Conditions: Progressing, Available, Ready, Stalled, and Reconciling while a rollout is under way; a job has Complete, Failed and " +
        "Suspended instead of Available.",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
      items: {
        ...condition,
        description: "One aspect of the state of the set.",
        properties: {
          ...condition.properties,
          type: text("Type of the condition, such as Ready."),
        },
      },
    },
  },
} as const satisfies Schema;
