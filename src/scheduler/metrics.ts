/** The scheduler's metrics. */
import {
  createCounter,
  createHistogram,
  exposeMetrics,
  type Family,
  histogramSamples,
  type Sample,
} from "../lib/metrics.ts";

export interface SchedulerMetrics {
  decided(result: "bound" | "refused" | "preempting", ms: number): void;
  wrote(result: "done" | "outdated" | "refused" | "unknown"): void;
  evicted(reason: string): void;
  /** Renders all metrics in the Prometheus format, with these values for gauges. */
  render(now: GaugeValues): Promise<string>;
}

export interface GaugeValues {
  leader: boolean;
  queues: Record<string, number>;
  nodes: Record<string, number>;
  apps: number;
  namespacesOverQuota: number;
}

const prefix = "nckubelet_scheduler_";

const bounds = [0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.1];

export function createSchedulerMetrics(): SchedulerMetrics {
  const decisions = {
    bound: createHistogram(bounds),
    refused: createHistogram(bounds),
    preempting: createHistogram(bounds),
  };
  const binds = createCounter<{ result: string }>();
  const evictions = createCounter<{ reason: string }>();
  return {
    decided: (result, ms) => decisions[result].observe(ms / 1000),
    wrote: (result) => binds.add({ result }),
    evicted: (reason) => evictions.add({ reason }),
    render: (now) =>
      exposeMetrics([
        {
          name: `${prefix}decision_duration_seconds`,
          help: "Duration of one placement decision, by result.",
          type: "histogram",
          values: Object.entries(decisions).flatMap(([result, one]) => histogramSamples(one, { result })),
        },
        {
          name: `${prefix}binds_total`,
          help: "Binds sent to the API server, by result.",
          type: "counter",
          values: binds.snapshot(),
        },
        {
          name: `${prefix}evictions_total`,
          help: "Apps unbound from their node, by reason.",
          type: "counter",
          values: evictions.snapshot(),
        },
        gauge("leader", "1 if this scheduler is the leader, else 0.", [{ value: now.leader ? 1 : 0 }]),
        gauge("pending_apps", "Apps waiting for a node, by queue.", labeled("queue", now.queues)),
        gauge("nodes", "Nodes by the state of their agent.", labeled("agent", now.nodes)),
        gauge("apps", "NCApps in the cluster.", [{ value: now.apps }]),
        gauge(
          "namespaces_over_quota",
          "Namespaces whose bound NCApps use more than a ResourceQuota allows.",
          [{ value: now.namespacesOverQuota }],
        ),
      ]),
  };
}

function gauge(name: string, help: string, values: Sample[]): Family {
  return { name: `${prefix}${name}`, help, type: "gauge", values };
}

function labeled(label: string, values: Record<string, number>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}
