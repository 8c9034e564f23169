import type { Schema } from "./schema-type.ts";

const text = (description: string) => ({ type: "string", description }) as const satisfies Schema;
const time = (description: string) =>
  ({ type: "string", format: "date-time", description }) as const satisfies Schema;
const count = (description: string) =>
  ({ type: "integer", format: "int64", description, minimum: 0 }) as const satisfies Schema;

/** How the last run ended. */
export const lastExit = {
  type: "object",
  description: "How the last run ended.",
  properties: {
    code: {
      type: "integer",
      format: "int32",
      description: "Exit code of the script; 128 + signal where it was killed.",
    },
    signal: text("Signal that ended it, such as SIGKILL."),
    reason: text("One word: Completed, Error, OOMKilled, ProbeFailed, …"),
    startedAt: time("When it started."),
    finishedAt: time("When its last process was gone."),
    message: text("On failure, the last lines of its log."),
  },
} as const satisfies Schema;

/** One condition, as everywhere in Kubernetes. */
export const condition = {
  type: "object",
  description: "One aspect of the state.",
  required: ["type", "status"],
  properties: {
    type: text("Scheduled, Ready or LimitsEnforced."),
    status: { type: "string", description: "True, False or Unknown.", enum: ["True", "False", "Unknown"] },
    reason: text("One word for programs."),
    message: text("A sentence for people."),
    lastTransitionTime: time("When `status` changed last."),
    observedGeneration: count("The generation of the spec that it is about."),
  },
} as const satisfies Schema;

/** The schema of `status`. The agent writes it; nominatedNodeName and Scheduled are the scheduler's. */
export const status = {
  type: "object",
  description: "What the agent saw last.",
  properties: {
    phase: {
      type: "string",
      description: "The state in one word.",
      enum: ["Pending", "Starting", "Running", "BackOff", "Stopping", "Succeeded", "Failed", "Unknown"],
    },
    reason: text("Why it is in this phase, in one word, such as NoShellFile or LimitsUnavailable."),
    message: text("Why it is in this phase, in a sentence."),
    observedGeneration: count("The generation of the spec that this status is about."),
    ready: { type: "boolean", description: "Running, and its readiness probe, if it has one, succeeds." },
    pid: count(
      "Process id of the script on the node or, once it has ended, of the oldest process that is left.",
    ),
    processes: count("Number of processes and threads of the app."),
    startTime: time("When the present run started."),
    restarts: count("How often it was started again."),
    cpuPCT: text("CPU time used, in percent of all CPUs of the node, one decimal."),
    memPCT: text("Memory used, in percent of the physical memory of the node, one decimal."),
    memoryBytes: count("Memory used, in bytes."),
    cpuThrottledPCT: text(
      "Share of the time in which it was held back by its CPU cap, in percent, one decimal.",
    ),
    oomKills: count("Kills because the app was out of memory; one of the whole app counts once."),
    lastExit,
    nextRun: time("When `schedule` is due next."),
    lastRun: time("When `schedule` started a run last."),
    nominatedNodeName: text("Node on which the scheduler makes room for the app by ending others."),
    conditions: {
      type: "array",
      description: "Scheduled, Ready, LimitsEnforced.",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
      items: condition,
    },
  },
} as const satisfies Schema;
