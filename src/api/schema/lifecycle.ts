import type { Schema } from "./schema-type.ts";
import { path, withoutNUL } from "./patterns.ts";
import { probe } from "./probe.ts";

/** The signals that have a name on Linux. */
const signals = [
  ...[
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
  ],
  ...["SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP"],
  ...["SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH"],
  ...["SIGIO", "SIGPWR", "SIGSYS"],
] as const;
const runLimit = (which: string) =>
  ({
    type: "integer",
    format: "int32",
    description: `How many runs ${which} \`status.recentRuns\` keeps, of 10 in total. Empty: 10.`,
    minimum: 0,
    maximum: 10,
  }) as const satisfies Schema;

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
      "Seconds before a restart. The first one comes at once if the app ran for 10 s. Doubles with each restart; resets after the app " +
      "ran for 600 s.",
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
    description:
      "Seconds from the start of a stop, which is `stopFile` or else `stopSignal`, to SIGKILL for every process that remains.",
    minimum: 0,
    maximum: 86_400,
    default: 30,
  },
  activeDeadlineSeconds: {
    type: "integer",
    format: "int64",
    description:
      "Seconds that a run may take. One that takes longer is stopped with reason DeadlineExceeded. As with Pods " +
      "and Jobs it is not restarted, whatever `restartPolicy` is; with `schedule`, the next run starts at its time. Empty: no limit.",
    minimum: 1,
    maximum: 2_147_483_647,
  },
  stopFile: {
    type: "string",
    description:
      "Script that runs first when the app stops: an absolute path on the node. `$NCAPP_PID` is the main process of the app. " +
      "It may take nine tenths of the grace period. If it succeeds, the app has half of the rest to end before it gets `stopSignal`; if " +
      "it fails, `stopSignal` follows at once.",
    pattern: path,
    maxLength: 4_096,
  },
  stopSignal: {
    type: "string",
    description: "Signal that asks the app to end, such as SIGQUIT for nginx.",
    enum: signals,
    default: "SIGTERM",
  },
  stopTarget: {
    type: "string",
    description:
      "Which processes get `stopSignal`. All: every process of the app. Main: its main process, which is `status.pid`; all if " +
      "that has ended.",
    enum: ["All", "Main"],
    default: "All",
  },
  update: {
    type: "object",
    description: "How a change of the spec or of the script is judged, and what happens if it fails. " +
      "Ignored for the apps of an NCAppSet, which has its own.",
    properties: {
      minReadySeconds: {
        type: "integer",
        format: "int32",
        description: "How long the app must be ready after a change before that counts as good.",
        minimum: 1,
        maximum: 86_400,
        default: 10,
      },
      progressDeadlineSeconds: {
        type: "integer",
        format: "int32",
        description: "How long the app may take after a change until that counts as good.",
        minimum: 1,
        maximum: 86_400,
        default: 600,
      },
      onFailure: {
        type: "string",
        description:
          "What to do if the app ends, or is not good in time, after a change. Keep: restart it. Rollback: return to the " +
          "last version of the program and its lifecycle that was good, with the script of that time, until the content changes again. " +
          "Caps, placement, `suspend` and `allowExec` stay as the spec says.",
        enum: ["Keep", "Rollback"],
        default: "Keep",
      },
    },
  },
  reloadSignal: {
    type: "string",
    description:
      "Signal that makes the main process of the app reload its configuration, such as SIGHUP, for `nckubelet reload`.",
    enum: signals,
  },
  reloadCommand: {
    type: "array",
    description:
      "Command that makes the app reload its configuration, for `nckubelet reload`: its path and arguments, without a shell. It runs " +
      "beside the app, as its user and with its environment; `$NCAPP_PID` is the main process of the app. It may take 60 seconds.",
    "x-kubernetes-list-type": "atomic",
    minItems: 1,
    maxItems: 1_024,
    items: { type: "string", pattern: withoutNUL, maxLength: 131_072 },
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
  successfulRunsHistoryLimit: runLimit("that completed"),
  failedRunsHistoryLimit: runLimit("that ended in another way"),
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
