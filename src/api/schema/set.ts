/**
 * The schema of NCAppSet: one app on many nodes. Its template has the schema of NCApp, without the node, which the set or the
 * scheduler chooses.
 */
import { apiVersions, setKind } from "../names.ts";
import { lifecycle } from "./lifecycle.ts";
import { limits } from "./limits.ts";
import { metadata } from "./metadata.ts";
import { labels, labelSelector } from "./label-selector.ts";
import { unavailableShare } from "./patterns.ts";
import { placement } from "./placement.ts";
import { program } from "./program.ts";
import type { Schema } from "./schema-type.ts";
import { setStatus } from "./set-status.ts";

const { nodeName: _chosenPerApp, ...templatePlacement } = placement;

/** The most apps of a set: twice the nodes that the scheduler is measured with. */
export const maxReplicas = 10_000;
/** A year. */
const maxSeconds = 31_536_000;

const count = (description: string, minimum: number, maximum = 2_147_483_647) =>
  ({ type: "integer", format: "int32", description, minimum, maximum }) as const satisfies Schema;
/** The spec of the set's apps. */
export const templateSpec = {
  type: "object",
  description: "What to run, and how much of the node it may use: the spec of an NCApp without nodeName.",
  properties: { ...program, ...limits, ...lifecycle, ...templatePlacement },
} as const satisfies Schema;

export const template = {
  type: "object",
  description: "The apps of the set. A change of it is a new revision, which is rolled out.",
  required: ["metadata", "spec"],
  properties: {
    metadata: {
      type: "object",
      description: "Metadata of the apps.",
      required: ["labels"],
      properties: {
        labels: labels("Labels of the apps. They must match the selector."),
        annotations: {
          type: "object",
          description: "Annotations of the apps.",
          maxProperties: 64,
          additionalProperties: { type: "string", maxLength: 262_144 },
        },
      },
    },
    spec: templateSpec,
  },
} as const satisfies Schema;

const update = {
  type: "object",
  description: "How a new revision replaces the old one.",
  default: {},
  properties: {
    type: {
      type: "string",
      description:
        "RollingUpdate: apps are updated step by step. OnDelete: an app gets the new revision when you delete it.",
      enum: ["RollingUpdate", "OnDelete"],
      default: "RollingUpdate",
    },
    maxUnavailable: {
      description:
        "How many apps may be unavailable because of an update: a number, or a percentage of the apps, rounded down, at least 1. " +
        "Apps on lost nodes do not count.",
      "x-kubernetes-int-or-string": true,
      minimum: 1,
      pattern: unavailableShare,
      maxLength: 4,
      default: 1,
    },
    partition: { ...count("How many apps keep the old revision.", 0), default: 0 },
    canary: {
      type: "object",
      description:
        "Apps that are updated first. The others wait until these are available and the revision is promoted.",
      properties: {
        count: count("How many apps are updated first.", 1),
        nodeSelector: labels("Labels of the nodes whose apps are updated first."),
        autoPromote: {
          type: "boolean",
          description: "Promote the revision as soon as these apps are available.",
          default: false,
        },
      },
    },
    maxFailed: {
      ...count("How many failed apps of a new revision stop its rollout.", 1),
      default: 1,
    },
    onFailure: {
      type: "string",
      description:
        "What follows when the rollout stops. Pause: everything stays as it is. Rollback: updated apps return to the stable " +
        "revision; the spec of the set is not changed.",
      enum: ["Pause", "Rollback"],
      default: "Pause",
    },
  },
} as const satisfies Schema;

const override = {
  type: "object",
  description: "Differences from the template for the apps on some nodes.",
  required: ["nodeSelector", "patch"],
  properties: {
    nodeSelector: labels("Labels of these nodes."),
    patch: {
      type: "object",
      description: "Merge patch of the template. It cannot change where apps run.",
      required: ["spec"],
      properties: {
        spec: {
          type: "object",
          description: "Fields of the template's spec: null removes one, lists are replaced as a whole.",
          "x-kubernetes-preserve-unknown-fields": true,
        },
      },
    },
  },
} as const satisfies Schema;

const seconds = (description: string, minimum: number) => count(description, minimum, maxSeconds);

/** The names and meanings are those of a Job of batch/v1. An index is the number of an app, or its node. */
const job = {
  type: "object",
  description:
    "Runs the template to completion, as a Job does: `completions` times, or once on every node that its placement rules choose. " +
    "It cannot be added or removed later.",
  properties: {
    completions: count(
      "How many apps must complete. Absent: one on every node that the placement rules of the template choose. It cannot be changed.",
      0,
      maxReplicas,
    ),
    parallelism: {
      ...count(
        "How many apps may run at the same time. If it is lowered, those that run go on, and no other starts.",
        0,
        maxReplicas,
      ),
      default: 1,
    },
    backoffLimit: count(
      "How many failed runs of all apps are repeated before the job fails. Absent: 6, or no limit if there is a `backoffLimitPerIndex`.",
      0,
    ),
    backoffLimitPerIndex: count(
      "How many failed runs of each app are repeated. An app that fails more often has failed, the others go on, and the job fails at " +
        "the end.",
      0,
    ),
    activeDeadlineSeconds: seconds(
      "How long the job may take. After that it fails, and what runs is stopped. Time in which it is suspended does not count. Absent: " +
        "no limit.",
      1,
    ),
    ttlSecondsAfterFinished: seconds(
      "How long after its end the set is deleted, with its apps. Absent: never.",
      0,
    ),
    suspend: {
      type: "boolean",
      description:
        "True: what runs is stopped, and nothing starts. Only then can the template be changed. Apps that were stopped run again from the " +
        "start.",
      default: false,
    },
  },
} as const satisfies Schema;

export const setSpec = {
  type: "object",
  description: "Which app to run, on which nodes, and how to update it.",
  required: ["selector", "template"],
  properties: {
    replicas: count(
      "Number of apps. Absent: one app on every node that the placement rules of the template choose. " +
        "It cannot be added or removed later.",
      0,
      maxReplicas,
    ),
    job,
    selector: labelSelector(
      "Labels of the apps that belong to the set. The template must have them. It cannot be changed.",
    ),
    template,
    minReadySeconds: {
      ...count(
        "How long an app must be ready before it counts as available. With 0, an app that starts and crashes counts as available " +
          "in between.",
        0,
        maxSeconds,
      ),
      default: 10,
    },
    progressDeadlineSeconds: {
      ...count(
        "How long an updated app may take to become available before it counts as failed.",
        1,
        maxSeconds,
      ),
      default: 600,
    },
    revisionHistoryLimit: { ...count("How many old revisions are kept for undo.", 0, 100), default: 10 },
    paused: {
      type: "boolean",
      description: "True: no app is updated. Apps are still created and removed.",
      default: false,
    },
    update,
    overrides: {
      type: "array",
      description: "Differences on some nodes. If several match a node, later ones win.",
      "x-kubernetes-list-type": "atomic",
      maxItems: 32,
      items: override,
    },
  },
} as const satisfies Schema;

export const ncappset = {
  type: "object",
  description:
    "NCAppSet runs one app on many nodes, and replaces it step by step when its template changes. A revision that fails stops by " +
    "itself.",
  required: ["apiVersion", "kind", "metadata", "spec"],
  properties: {
    apiVersion: { type: "string", enum: apiVersions },
    kind: { type: "string", enum: [setKind] },
    metadata,
    spec: setSpec,
    status: setStatus,
  },
} as const satisfies Schema;
