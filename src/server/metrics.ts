/**
 * What `/metrics` serves. Values are read at each scrape: those of apps as last measured, every `--report-period`, the agent's own
 * as they are.
 *
 * An app that does not run has no usage series, and one without a cap no limit series. The kernel's counters start again at zero
 * with each run, which Prometheus handles.
 */
import process from "node:process";
import { runtimeVersion } from "../lib/version.ts";
import type { AgentCounters, Histogram } from "./counters.ts";
import type { Family, Sample } from "./prometheus.ts";
import type { AgentView, AppView } from "./view.ts";

interface AppMetric {
  name: string;
  help: string;
  type: "counter" | "gauge";
  value: (app: AppView) => number | undefined;
}

const phases = ["Pending", "Starting", "Running", "BackOff", "Stopping", "Succeeded", "Failed", "Unknown"];

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
];

/** Returns all families as they are now. Each is present even without series, so that its help and type are always known. */
export function collectMetrics(view: AgentView, counters: AgentCounters): Family[] {
  const apps = view.apps();
  const labeled = apps.map(withLabels);
  return [
    ...appMetrics.map((metric) => appFamily(metric, labeled)),
    {
      name: "nckubelet_build_info",
      help: "Always 1; the labels describe this agent.",
      type: "gauge",
      values: [{ labels: { version: view.version, node: view.node, runtime: runtimeVersion() }, value: 1 }],
    },
    {
      name: "nckubelet_apps",
      help: "Apps of this node, by phase.",
      type: "gauge",
      values: phases.map((phase) => ({
        labels: { phase },
        value: apps.filter(({ status }) => status.phase === phase).length,
      })),
    },
    histogramFamily(
      "nckubelet_sync_duration_seconds",
      "Duration of a sync of all apps.",
      counters.syncs,
    ),
    histogramFamily(
      "nckubelet_app_start_duration_seconds",
      "Duration from the decision to start an app until its script runs.",
      counters.appStarts,
    ),
    {
      name: "nckubelet_api_requests_total",
      help: "Requests to the API server, by verb, resource and HTTP status; code 0 means no answer.",
      type: "counter",
      values: counters.apiRequests.snapshot(),
    },
    {
      name: "nckubelet_watch_restarts_total",
      help: "Restarts of the watch of NCApps, by reason.",
      type: "counter",
      values: counters.watchRestarts.snapshot(),
    },
    {
      name: "nckubelet_timers",
      help: "Pending timers of the agent.",
      type: "gauge",
      values: [{ value: countTimers() }],
    },
  ];
}

interface LabeledApp {
  app: AppView;
  sharedLabels: Sample["sharedLabels"];
}

function withLabels(app: AppView): LabeledApp {
  const { namespace = "", name } = app.app.metadata;
  return { app, sharedLabels: { namespace, app: name } };
}

function appFamily({ name, help, type, value }: AppMetric, apps: LabeledApp[]): Family {
  const values: Sample[] = [];
  for (const { app, sharedLabels } of apps) {
    const found = value(app);
    if (found !== undefined) values.push({ sharedLabels, value: found });
  }
  return { name, help, type, values };
}

function histogramFamily(name: string, help: string, histogram: Histogram): Family {
  const { bounds, counts, sum, count } = histogram.snapshot();
  let below = 0;
  const buckets = counts.map((count, index) => ({
    metricName: `${name}_bucket`,
    labels: { le: String(bounds[index]) },
    value: below += count,
  }));
  const values = [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { le: "+Inf" }, value: count },
    { metricName: `${name}_sum`, value: sum },
    { metricName: `${name}_count`, value: count },
  ];
  return { name, help, type: "histogram", values };
}

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
}
