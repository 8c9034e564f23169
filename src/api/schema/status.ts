import type { Schema } from "./schema-type.ts";

const text = (description: string) => ({ type: "string", description }) as const satisfies Schema;
const time = (description: string) =>
  ({ type: "string", format: "date-time", description }) as const satisfies Schema;
const count = (description: string) =>
  ({ type: "integer", format: "int64", description, minimum: 0 }) as const satisfies Schema;

/** The status of a new object that no agent or controller has seen: kstatus takes one without for finished. */
export const unseen = { observedGeneration: -1 } as const;

export const observedGeneration = (description: string) =>
  ({ type: "integer", format: "int64", description, minimum: -1 }) as const satisfies Schema;

const exit = {
  id: text("Name of the run, which no other run has."),
  code: {
    type: "integer",
    format: "int32",
    description: "Exit code of the script; 128 + signal number if a signal killed it.",
  },
  signal: text("Signal that ended the script, such as SIGKILL."),
  reason: text("Reason in one word: Completed, Error, OOMKilled, ProbeFailed, …"),
  startedAt: time("When the run started."),
  finishedAt: time("When the last process of the run ended."),
} as const satisfies { [field: string]: Schema };

export const lastExit = {
  type: "object",
  description: "How the last run ended.",
  properties: { ...exit, message: text("On failure, the last lines of the log.") },
} as const satisfies Schema;

const recentRuns = {
  type: "array",
  description:
    "The last runs that have ended, newest first; at most 10, and of each kind as many as `successfulRunsHistoryLimit` and " +
    "`failedRunsHistoryLimit` allow.",
  maxItems: 10,
  items: { type: "object", description: "How one run ended.", properties: exit },
} as const satisfies Schema;

export const condition = {
  type: "object",
  description: "One aspect of the state of the app.",
  required: ["type", "status"],
  properties: {
    type: text("Type of the condition."),
    status: { type: "string", description: "True, False or Unknown.", enum: ["True", "False", "Unknown"] },
    reason: text("Reason in one word, for programs."),
    message: text("Reason in a sentence, for humans."),
    lastTransitionTime: time("When `status` last changed."),
    observedGeneration: count("Generation of the spec that the condition describes."),
  },
} as const satisfies Schema;

/** The schema of `status`. The agent builds it (supervisor/status.ts), except nominatedNodeName and Scheduled: those are the scheduler's. */
export const status = {
  type: "object",
  description: "State of the app as the agent last observed it.",
  default: unseen,
  properties: {
    phase: {
      type: "string",
      description: "State of the app in one word.",
      enum: [
        "Pending",
        "Starting",
        "Running",
        "BackOff",
        "Stopping",
        "Stopped",
        "Succeeded",
        "Failed",
        "Unknown",
      ],
    },
    reason: text("Why the app is in this phase, in one word, such as NoShellFile or LimitsUnavailable."),
    message: text("Why the app is in this phase, in a sentence."),
    observedGeneration: observedGeneration("Generation of the spec that this status describes."),
    observedRestartedAt: text("Annotation app.example.com/restartedAt that this status describes."),
    ready: {
      type: "boolean",
      description: "True if the app runs and its readiness probe, if any, succeeds.",
    },
    pid: count(
      "Process ID of the script on the node or, after the script ended, of the oldest remaining process.",
    ),
    processes: count("Number of processes of the app, without their threads."),
    startTime: time("When the current run started."),
    restarts: count("Number of restarts."),
    cpuPCT: text("CPU usage, in percent of all CPUs of the node, one decimal."),
    memPCT: text("Memory usage, in percent of the physical memory of the node, one decimal."),
    memoryBytes: count("Memory usage in bytes."),
    cpuThrottledPCT: text(
      "Share of time during which the CPU cap throttled the app, in percent, one decimal.",
    ),
    oomKills: count("Number of out-of-memory kills. A kill of the whole app counts once."),
    lastExit,
    recentRuns,
    goodRevision: text(
      "Last version of the app that was good: a digest of what the spec says about program and lifecycle and, with `update`, of the script.",
    ),
    revisions: {
      type: "array",
      description:
        "Versions of the app that its node knows: at most one on trial, the last two that were good, and one that is refused.",
      "x-kubernetes-list-type": "atomic",
      items: {
        type: "object",
        properties: {
          revision: text("Digest of the version."),
          state: {
            type: "string",
            description:
              "Trial: in force, and not good yet. Good: the last good one. Previous: the good one before it. " +
              "Refused: it failed or was undone, and is not tried again until its content changes.",
            enum: ["Trial", "Good", "Previous", "Refused"],
          },
          since: time("When it was first tried, became good, or was refused."),
          reason: text("Why it is refused, in one word."),
        },
      },
    },
    nextRun: time("Next time at which `schedule` is due."),
    lastRun: time("When `schedule` last started a run."),
    lastSuccess: time("When a run of `schedule` last completed."),
    nodeName: text(
      "Node whose agent holds the app: its processes may exist there, even after `spec.nodeName` changed. Empty once that " +
        "agent has stopped it and let it go.",
    ),
    nominatedNodeName: text("Node on which the scheduler evicts other apps to make room for this one."),
    conditions: {
      type: "array",
      description:
        "Conditions: Scheduled, Ready unless the app has ended, is suspended or waits for its schedule, Reconciling on the way there, " +
        "Stalled if it will not get there, Complete, Failed, Suspended, LimitsEnforced, RolledBack while an earlier version is in " +
        "force, WithinNamespaceRules of an app that broke the rules of its namespace, and PodShown of one whose namespace refuses its Pod.",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
      items: condition,
    },
  },
} as const satisfies Schema;
