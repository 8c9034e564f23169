/**
 * What `/metrics` serves of the agent; app-metrics.ts has the series of apps. Values are read at each scrape: those of apps as last
 * measured, every `--report-period`, the agent's own as they are.
 */
import process from "node:process";
import { ncapp } from "../api/schema/schema.ts";
import { runtimeVersion } from "../lib/version.ts";
import { appFamilies } from "./app-metrics.ts";
import type { AgentCounters, Histogram } from "./counters.ts";
import { processFamilies } from "./process-metrics.ts";
import type { Family } from "./prometheus.ts";
import type { AgentView } from "./view.ts";

const phases = ncapp.properties.status.properties.phase.enum;

/** Returns all families as they are now. Each is present even without series, so that its help and type are always known. */
export function collectMetrics(view: AgentView, counters: AgentCounters): Family[] {
  const apps = view.apps();
  return [
    ...appFamilies(apps),
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
    {
      name: "nckubelet_healthcheck",
      help: "1 while a check of /readyz passes, otherwise 0.",
      type: "gauge",
      values: view.checks().map(({ name, ok }) => ({ labels: { name }, value: ok ? 1 : 0 })),
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
    ...processFamilies(),
  ];
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
