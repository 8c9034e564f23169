import type { Schema } from "./schema-type.ts";

const text = (description: string) => ({ type: "string", description }) as const satisfies Schema;
const time = (description: string) =>
  ({ type: "string", format: "date-time", description }) as const satisfies Schema;
const count = (description: string) =>
  ({ type: "integer", format: "int64", description, minimum: 0 }) as const satisfies Schema;

export const lastExit = {
  type: "object",
  description: "How the last run ended.",
  properties: {
    code: {
      type: "integer",
      format: "int32",
      description: "Exit code of the script; 128 + signal number if a signal killed it.",
    },
    signal: text("Signal that ended the script, such as SIGKILL."),
    reason: text("Reason in one word: Completed, Error, OOMKilled, ProbeFailed, …"),
    startedAt: time("When the run started."),
    finishedAt: time("When the last process of the run ended."),
    message: text("On failure, the last lines of the log."),
  },
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
    observedGeneration: count("Generation of the spec that this status describes."),
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
        "Conditions: Scheduled, Ready, LimitsEnforced, and WithinNamespaceRules of an app that broke the rules of its namespace.",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
      items: condition,
    },
  },
} as const satisfies Schema;
