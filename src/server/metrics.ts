/**
 * What `/metrics` serves. Values are read when they are asked for: the apps' as they were measured last, which is every
 * `--report-period`, the agent's own as they stand.
 *
 * An app that is not measured (it does not run) and a cap that it does not have leave their series out; a counter of the kernel
 * begins anew with a run, as Prometheus expects of counters.
 */
import process from "node:process";
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
    help: "CPU time that the app has used in its present run.",
    type: "counter",
    value: ({ usage }) => usage?.cpuSeconds,
  },
  {
    name: "nckubelet_app_cpu_limit_cores",
    help: "CPUs that the app may use at most (spec.cpuPCT of the node).",
    type: "gauge",
    value: ({ limits }) => limits.cores,
  },
  {
    name: "nckubelet_app_cpu_throttled_seconds_total",
    help: "Time for which the app was held back by its CPU cap in its present run.",
    type: "counter",
    value: ({ usage }) => usage?.throttledSeconds,
  },
  {
    name: "nckubelet_app_memory_bytes",
    help: "Memory that the app holds.",
    type: "gauge",
    value: ({ usage }) => usage?.memoryBytes,
  },
  {
    name: "nckubelet_app_memory_limit_bytes",
    help: "Memory that the app may hold at most (spec.memPCT of the node).",
    type: "gauge",
    value: ({ limits }) => limits.memoryBytes,
  },
  {
    name: "nckubelet_app_oom_kills_total",
    help: "How often the kernel killed for want of memory: the app as a whole, or one process of it.",
    type: "counter",
    value: ({ status }) => status.oomKills ?? 0,
  },
  {
    name: "nckubelet_app_restarts_total",
    help: "How often the app was started again after it had ended.",
    type: "counter",
    value: ({ status }) => status.restarts ?? 0,
  },
  {
    name: "nckubelet_app_ready",
    help: "1 while the app is ready, else 0.",
    type: "gauge",
    value: ({ status }) => status.ready ? 1 : 0,
  },
];

/** All families, as they are now. Each is there even while it has no series, so that what is asked for is known to exist. */
export function collectMetrics(view: AgentView, counters: AgentCounters): Family[] {
  const apps = view.apps();
  const labelled = apps.map(withLabels);
  return [
    ...appMetrics.map((metric) => appFamily(metric, labelled)),
    {
      name: "nckubelet_build_info",
      help: "1, with what this agent is in its labels.",
      type: "gauge",
      values: [{ labels: { version: view.version, node: view.node, runtime: runtimeVersion() }, value: 1 }],
    },
    {
      name: "nckubelet_apps",
      help: "Apps of this node by phase.",
      type: "gauge",
      values: phases.map((phase) => ({
        labels: { phase },
        value: apps.filter(({ status }) => status.phase === phase).length,
      })),
    },
    histogramFamily(
      "nckubelet_sync_duration_seconds",
      "How long a comparison of all apps took.",
      counters.syncs,
    ),
    histogramFamily(
      "nckubelet_app_start_duration_seconds",
      "How long it took from the decision to start an app until its script ran.",
      counters.appStarts,
    ),
    {
      name: "nckubelet_api_requests_total",
      help: "Requests to the API server by verb, resource and HTTP status; code 0: there was no answer.",
      type: "counter",
      values: counters.apiRequests.snapshot(),
    },
    {
      name: "nckubelet_watch_restarts_total",
      help: "How often the watch of NCApps was opened anew, by reason.",
      type: "counter",
      values: counters.watchRestarts.snapshot(),
    },
    {
      name: "nckubelet_timers",
      help: "Timers of the agent that are yet to come.",
      type: "gauge",
      values: [{ value: countTimers() }],
    },
  ];
}

interface LabelledApp {
  app: AppView;
  sharedLabels: Sample["sharedLabels"];
}

function withLabels(app: AppView): LabelledApp {
  const { namespace = "", name } = app.app.metadata;
  return { app, sharedLabels: { namespace, app: name } };
}

function appFamily({ name, help, type, value }: AppMetric, apps: LabelledApp[]): Family {
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
  const buckets = counts.map((inside, index) => ({
    metricName: `${name}_bucket`,
    labels: { le: String(bounds[index]) },
    value: below += inside,
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

function runtimeVersion(): string {
  const { deno, node } = process.versions;
  return deno ? `deno ${deno}` : `node ${node}`;
}
