/**
 * `/metrics/resource`, which metrics-server reads for `kubectl top`. Each value has the time at which it was measured: metrics-server
 * computes rates from those.
 *
 * Caveat: metrics-server leaves out a Pod that has used no CPU time at all, such as one measured in whole ticks that sleeps.
 */
import { appKey, podContainer } from "../../api/names.ts";
import type { PodBook } from "./services.ts";
import type { AgentView, AppView } from "../view.ts";

interface Metric {
  name: string;
  help: string;
  type: "counter" | "gauge";
  value: (app: MeasuredApp) => number | undefined;
}

type MeasuredApp = Pick<AppView, "status"> & { usage: NonNullable<AppView["usage"]> };

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

/** Returns the text that is scraped. */
export function formatResourceMetrics(view: AgentView, pods: PodBook): string {
  const apps = view.apps().flatMap((app) => {
    const { namespace = "default", name } = app.app.metadata;
    const pod = pods.podNameOf(appKey(namespace, name));
    return app.usage && app.usageTime !== undefined && pod !== undefined
      ? [{ measured: { status: app.status, usage: app.usage }, time: app.usageTime, namespace, pod }]
      : [];
  });
  const family = ({ name, help, type, value }: Metric, withContainer: boolean) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...apps.flatMap(({ measured, time, namespace, pod }) => {
      const found = value(measured);
      const container = withContainer ? `container=${quote(podContainer)},` : "";
      const labels = `${container}namespace=${quote(namespace)},pod=${quote(pod)}`;
      return found === undefined ? [] : [`${name}{${labels}} ${found} ${time}`];
    }),
  ];
  return [
    ...containerMetrics.flatMap((metric) => family(metric, true)),
    ...podMetrics.flatMap((metric) => family(metric, false)),
    ...nodeLines(view),
    "",
  ].join("\n");
}

function nodeLines(view: AgentView): string[] {
  const usage = view.nodeUsage();
  if (!usage) return [];
  return [
    "# HELP node_cpu_usage_seconds_total CPU time that the node has used, in core-seconds.",
    "# TYPE node_cpu_usage_seconds_total counter",
    `node_cpu_usage_seconds_total ${usage.cpuSeconds} ${usage.time}`,
    "# HELP node_memory_working_set_bytes Memory in use by the node.",
    "# TYPE node_memory_working_set_bytes gauge",
    `node_memory_working_set_bytes ${usage.memoryBytes} ${usage.time}`,
  ];
}

function quote(value: string): string {
  return `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}
