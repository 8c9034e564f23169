/**
 * What `/metrics` serves of the agent; app-metrics.ts has the series of apps. Values are read at each scrape: those of apps as last
 * measured, every `--report-period`, the agent's own as they are.
 */
import process from "node:process";
import { ncapp } from "../api/schema/schema.ts";
import { type Family, histogramSamples } from "../lib/metrics.ts";
import { runtimeVersion } from "../lib/version.ts";
import { appFamilies } from "./app-metrics.ts";
import type { AgentCounters } from "./counters.ts";
import { processFamilies } from "./process-metrics.ts";
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
    {
      name: "nckubelet_sync_duration_seconds",
      help: "Duration of a sync of all apps.",
      type: "histogram",
      values: histogramSamples(counters.syncs),
    },
    {
      name: "nckubelet_app_start_duration_seconds",
      help: "Duration from the decision to start an app until its script runs.",
      type: "histogram",
      values: histogramSamples(counters.appStarts),
    },
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
      name: "nckubelet_history_entries_lost_total",
      help: "Entries of the histories of apps that the disk did not take.",
      type: "counter",
      values: [{ value: view.lostHistory() }],
    },
    counters.credentials.family(),
    {
      name: "nckubelet_timers",
      help: "Pending timers of the agent.",
      type: "gauge",
      values: [{ value: countTimers() }],
    },
    ...processFamilies(),
  ];
}

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
}
