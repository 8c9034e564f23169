import type { Schema } from "./schema-type.ts";
import { condition } from "./status.ts";

const text = (description: string) => ({ type: "string", description }) as const satisfies Schema;
const count = (description: string) =>
  ({ type: "integer", format: "int64", description, minimum: 0 }) as const satisfies Schema;

/** The schema of the status of an NCAppSet. The sets controller computes it (sets/plan/status.ts). */
export const setStatus = {
  type: "object",
  description: "State of the set as the controller last observed it.",
  properties: {
    observedGeneration: count("Generation of the spec that this status describes."),
    desired: count("Number of apps that there should be."),
    current: count("Number of apps that there are, without those that are being deleted."),
    updated: count("Number of apps that have the newest revision."),
    ready: count("Number of apps that are ready."),
    available: count("Number of apps that have been ready for minReadySeconds."),
    unavailable: count("Number of apps that are missing or not available."),
    failed: count(
      "Number of apps that crash, cannot start, or did not become available within progressDeadlineSeconds.",
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
      description: "Conditions: Progressing, Available and Stalled.",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
      items: {
        ...condition,
        description: "One aspect of the state of the set.",
        properties: {
          ...condition.properties,
          type: text("Type of the condition: Progressing, Available or Stalled."),
        },
      },
    },
  },
} as const satisfies Schema;
