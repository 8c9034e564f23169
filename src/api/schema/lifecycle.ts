import type { Schema } from "./schema-type.ts";
import { path } from "./patterns.ts";
import { probe } from "./probe.ts";

/** When the app restarts, how it stops and who may enter it. Changes apply without a restart. */
export const lifecycle = {
  restartPolicy: {
    type: "string",
    description: "When to restart an app that ended: Always, OnFailure (exit code other than 0) or Never. " +
      "With `schedule`, a run that succeeded is never repeated before the next scheduled time.",
    enum: ["Always", "OnFailure", "Never"],
    default: "Always",
  },
  backoffSeconds: {
    type: "integer",
    format: "int32",
    description:
      "Seconds before the first restart. Doubles with each restart; resets after the app ran for 600 s.",
    minimum: 0,
    maximum: 86_400,
    default: 10,
  },
  maxBackoffSeconds: {
    type: "integer",
    format: "int32",
    description: "Maximum seconds before a restart. Must be at least `backoffSeconds`.",
    minimum: 0,
    maximum: 86_400,
    default: 300,
  },
  terminationGracePeriodSeconds: {
    type: "integer",
    format: "int64",
    description: "Seconds between SIGTERM to every process of the app and SIGKILL to those that remain.",
    minimum: 0,
    maximum: 86_400,
    default: 30,
  },
  stopFile: {
    type: "string",
    description: "Script that runs before SIGTERM when the app stops: an absolute path on the node. " +
      "Its run time counts toward the grace period.",
    pattern: path,
    maxLength: 4_096,
  },
  livenessProbe: probe("Checks that the app works. Failure restarts the app.", 1),
  readinessProbe: probe("Checks that the app can serve requests. Sets `status.ready`.", 1_000_000),
  startupProbe: probe(
    "Checks that the app has started. The other probes wait for it. Failure restarts the app.",
    1,
  ),
  schedule: {
    type: "string",
    description:
      "Cron expression with five fields (six: seconds first), or @hourly, @daily, @weekly, @monthly or @yearly. " +
      "If neither day of month nor day of week is `*`, either is enough. " +
      "The script runs to completion at these times. Empty: the app runs continuously.",
    maxLength: 256,
  },
  timeZone: {
    type: "string",
    description: "Time zone of `schedule`, such as Europe/Berlin. Empty: the time zone of the node.",
    maxLength: 64,
  },
  concurrencyPolicy: {
    type: "string",
    description: "What to do when a scheduled run is due while the previous one is still running. " +
      "Forbid: skip the new run. Allow: run both. Replace: stop the old run.",
    enum: ["Forbid", "Allow", "Replace"],
    default: "Forbid",
  },
  suspend: {
    type: "boolean",
    description: "If true, the agent stops the app and does not start it. The NCApp stays.",
    default: false,
  },
  allowExec: {
    type: "boolean",
    description:
      "If true, kubectl exec, attach, cp and port-forward may enter the app even if it runs as root, and port-forward reaches every " +
      "port of the node. If false, they cannot enter an app that runs as root, and port-forward reaches only `ports`.",
    default: false,
  },
} as const satisfies { [field: string]: Schema };
