import type { Schema } from "./schema-type.ts";
import { path } from "./patterns.ts";
import { probe } from "./probe.ts";

/** When it starts again, and how it stops: applied live. */
export const lifecycle = {
  restartPolicy: {
    type: "string",
    description:
      "When an app that has ended is started again. Always, OnFailure (exit code other than 0) or Never. " +
      "With `schedule`, a run that ended well is not repeated before its time under any policy.",
    enum: ["Always", "OnFailure", "Never"],
    default: "Always",
  },
  backoffSeconds: {
    type: "integer",
    format: "int32",
    description:
      "Seconds before the first restart; doubled at each further one, reset after 600 s of running.",
    minimum: 0,
    maximum: 86_400,
    default: 10,
  },
  maxBackoffSeconds: {
    type: "integer",
    format: "int32",
    description: "Most seconds before a restart. At least `backoffSeconds`.",
    minimum: 0,
    maximum: 86_400,
    default: 300,
  },
  terminationGracePeriodSeconds: {
    type: "integer",
    format: "int64",
    description: "Seconds from SIGTERM to every process of the app until what is left is killed.",
    minimum: 0,
    maximum: 86_400,
    default: 30,
  },
  stopFile: {
    type: "string",
    description:
      "Script run first when the app is stopped, an absolute path on the node. Its time counts as grace period.",
    pattern: path,
    maxLength: 4_096,
  },
  livenessProbe: probe("Asks whether the app works. Failure restarts it.", 1),
  readinessProbe: probe("Asks whether the app can serve. Sets `status.ready`.", 1_000_000),
  startupProbe: probe(
    "Asks whether the app has started. The other probes wait for it; failure restarts the app.",
    1,
  ),
  schedule: {
    type: "string",
    description: "Cron expression of five fields, or @hourly, @daily, @weekly, @monthly, @yearly: " +
      "the script runs to completion at these times. Empty: it runs all the time.",
    maxLength: 256,
  },
  timeZone: {
    type: "string",
    description: "Time zone of `schedule`, such as Europe/Berlin. Empty: that of the node.",
    maxLength: 64,
  },
  concurrencyPolicy: {
    type: "string",
    description: "When a scheduled run is due and the last one has not ended. Forbid: skip it. " +
      "Allow: run both. Replace: stop the old one.",
    enum: ["Forbid", "Allow", "Replace"],
    default: "Forbid",
  },
  suspend: {
    type: "boolean",
    description: "True: the app is stopped and kept, and not started.",
    default: false,
  },
} as const satisfies { [field: string]: Schema };
