/**
 * `/metrics/resource`, which metrics-server reads for `kubectl top`. Each value has the time at which it was measured: metrics-server
 * computes rates from those.
 *
 * Caveat: metrics-server leaves out a Pod that has used no CPU time at all, such as one measured in whole ticks that sleeps.
 */
import { appKey, podContainer } from "../../api/names.ts";
import type { Family } from "../../lib/metrics.ts";
import type { PodLister } from "./services.ts";
import type { AgentView, AppView } from "../view.ts";

type MeasuredApp = Pick<AppView, "status"> & { usage: NonNullable<AppView["usage"]> };

interface Metric extends Omit<Family, "values"> {
  value: (app: MeasuredApp) => number | undefined;
}

const cpuOf = ({ usage }: MeasuredApp) => usage.cpuSeconds;
const memoryOf = ({ usage }: MeasuredApp) => usage.memoryBytes;

const containerMetrics: Metric[] = [
  {
    name: "container_cpu_usage_seconds_total",
    help: "CPU time that the container has used, in core-seconds.",
    type: "counter",
    value: cpuOf,
  },
  {
    name: "container_memory_working_set_bytes",
    help: "Memory in use by the container.",
    type: "gauge",
    value: memoryOf,
  },
  {
    name: "container_start_time_seconds",
    help: "Start of the container, in seconds since 1970.",
    type: "gauge",
    value: ({ status }) => status.startTime === undefined ? undefined : Date.parse(status.startTime) / 1000,
  },
];

const podMetrics: Metric[] = [
  {
    name: "pod_cpu_usage_seconds_total",
    help: "CPU time that the pod has used, in core-seconds.",
    type: "counter",
    value: cpuOf,
  },
  { name: "pod_memory_working_set_bytes", help: "Memory in use by the pod.", type: "gauge", value: memoryOf },
];

export function resourceFamilies(view: AgentView, pods: PodLister): Family[] {
  const apps = view.apps().flatMap(({ app, status, usage, usageTime: time }) => {
    const { namespace = "default", name } = app.metadata;
    const pod = pods.podOf(appKey(namespace, name))?.name;
    if (!usage || time === undefined || pod === undefined) return [];
    return [{ measured: { status, usage }, time, labels: { namespace, pod } }];
  });
  const family = ({ value, ...metric }: Metric, more: Record<string, string>): Family => ({
    ...metric,
    values: apps.flatMap(({ measured, time, labels }) => {
      const found = value(measured);
      return found === undefined ? [] : [{ labels: { ...more, ...labels }, value: found, time }];
    }),
  });
  return [
    ...containerMetrics.map((metric) => family(metric, { container: podContainer })),
    ...podMetrics.map((metric) => family(metric, {})),
    ...nodeFamilies(view),
  ];
}

function nodeFamilies(view: AgentView): Family[] {
  const usage = view.nodeUsage();
  if (!usage) return [];
  const { cpuSeconds, memoryBytes, time } = usage;
  return [
    {
      name: "node_cpu_usage_seconds_total",
      help: "CPU time that the node has used, in core-seconds.",
      type: "counter",
      values: [{ value: cpuSeconds, time }],
    },
    {
      name: "node_memory_working_set_bytes",
      help: "Memory in use by the node.",
      type: "gauge",
      values: [{ value: memoryBytes, time }],
    },
  ];
}
