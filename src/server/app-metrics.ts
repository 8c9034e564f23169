/**
 * The series of apps: at most twenty of each, however long it lives. An app that does not run has no usage series, and one without a
 * cap no limit series. The kernel's counters start again at zero with each run, which Prometheus handles.
 *
 * A label with a changing value, such as the phase, has a series for its current value only. kube-state-metrics does that for
 * reasons; for phases it has 0 for all others, which here would be a third of a scrape. `nckubelet_apps` has these zeros.
 */
import type { NCAppStatus } from "../api/types.ts";
import type { Family, Sample } from "../lib/metrics.ts";
import type { AppView } from "./view.ts";

type AppMetric =
  & { name: string; help: string; type: "counter" | "gauge" }
  & (
    /** One series, absent where the value is undefined. */
    | { value: (app: AppView) => number | undefined }
    /** Series with labels of their own. */
    | { series: (app: AppView) => Pick<Sample, "labels" | "value">[] }
  );

/** Returns the families of all apps. */
export function appFamilies(apps: AppView[]): Family[] {
  const labeled = apps.map((app) => {
    const { namespace = "", name } = app.app.metadata;
    return { app, own: { namespace, app: name } };
  });
  return appMetrics.map((metric) => {
    const { name, help, type } = metric;
    const values: Sample[] = [];
    for (const { app, own } of labeled) {
      if ("series" in metric) {
        for (const { labels, value } of metric.series(app)) {
          values.push({ labels: { ...labels, ...own }, value });
        }
        continue;
      }
      const value = metric.value(app);
      if (value !== undefined) values.push({ labels: own, value });
    }
    return { name, help, type, values };
  });
}

const probeKinds = ["startup", "liveness", "readiness"] as const;

const appMetrics: AppMetric[] = [
  {
    name: "nckubelet_app_cpu_usage_seconds_total",
    help: "CPU time that the app has used in its current run.",
    type: "counter",
    value: ({ usage }) => usage?.cpuSeconds,
  },
  {
    name: "nckubelet_app_cpu_limit_cores",
    help: "CPU limit of the app, in cores (spec.cpuPCT of the node).",
    type: "gauge",
    value: ({ limits }) => limits.cores,
  },
  {
    name: "nckubelet_app_cpu_throttled_seconds_total",
    help: "Time for which the CPU limit throttled the app in its current run.",
    type: "counter",
    value: ({ usage }) => usage?.throttledSeconds,
  },
  {
    name: "nckubelet_app_memory_bytes",
    help: "Memory in use by the app.",
    type: "gauge",
    value: ({ usage }) => usage?.memoryBytes,
  },
  {
    name: "nckubelet_app_memory_limit_bytes",
    help: "Memory limit of the app (spec.memPCT of the node).",
    type: "gauge",
    value: ({ limits }) => limits.memoryBytes,
  },
  {
    name: "nckubelet_app_oom_kills_total",
    help: "OOM kills by the kernel: of the whole app, or of one of its processes.",
    type: "counter",
    value: ({ status }) => status.oomKills ?? 0,
  },
  {
    name: "nckubelet_app_restarts_total",
    help: "Restarts of the app after it had ended.",
    type: "counter",
    value: ({ status }) => status.restarts ?? 0,
  },
  {
    name: "nckubelet_app_ready",
    help: "1 while the app is ready, otherwise 0.",
    type: "gauge",
    value: ({ status }) => status.ready ? 1 : 0,
  },
  {
    name: "nckubelet_app_phase",
    help: "1 for the current phase of the app and its reason; others have no series.",
    type: "gauge",
    series: ({ status: { phase, reason = "" } }) => phase ? [{ labels: { phase, reason }, value: 1 }] : [],
  },
  {
    name: "nckubelet_app_limits_enforced",
    help:
      "The condition LimitsEnforced: 1 while the kernel enforces all caps of the app, 0 while it does not.",
    type: "gauge",
    value: ({ status }) => conditionValue(status, "LimitsEnforced"),
  },
  {
    name: "nckubelet_app_last_exit_code",
    help: "Exit code of the last run; absent if it is unknown.",
    type: "gauge",
    value: ({ status }) => status.lastExit?.code,
  },
  {
    name: "nckubelet_app_last_exit_reason",
    help: "1 for the reason why the last run ended; other reasons have no series.",
    type: "gauge",
    series: ({ status }) =>
      status.lastExit?.reason ? [{ labels: { reason: status.lastExit.reason }, value: 1 }] : [],
  },
  {
    name: "nckubelet_app_last_exit_timestamp_seconds",
    help: "When the last run ended.",
    type: "gauge",
    value: ({ status }) => seconds(status.lastExit?.finishedAt),
  },
  {
    name: "nckubelet_app_next_run_timestamp_seconds",
    help: "When spec.schedule is due; a time in the past means that the run has not started yet.",
    type: "gauge",
    value: ({ status }) => seconds(status.nextRun),
  },
  {
    name: "nckubelet_app_last_success_timestamp_seconds",
    help: "When a run of spec.schedule last completed.",
    type: "gauge",
    value: ({ status }) => seconds(status.lastSuccess),
  },
  {
    name: "nckubelet_app_probe_failures_total",
    help: "Failed probes, whether or not they reached their threshold.",
    type: "counter",
    // From zero on, so that Prometheus sees the first failure as an increase.
    series: ({ app, probeFailures }) =>
      probeKinds.filter((probe) => app.spec[`${probe}Probe`]).map((probe) => ({
        labels: { probe },
        value: probeFailures?.[probe] ?? 0,
      })),
  },
];

function conditionValue({ conditions }: NCAppStatus, type: string): number | undefined {
  const found = conditions?.find((condition) => condition.type === type);
  return found && (found.status === "True" ? 1 : 0);
}

function seconds(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time) / 1000;
}
