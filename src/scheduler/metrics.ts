/** The scheduler's metrics, in their own registry. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";

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

export function createSchedulerMetrics(): SchedulerMetrics {
  const registers = [new Registry()];
  const decisions = new Histogram({
    name: `${prefix}decision_duration_seconds`,
    help: "Duration of one placement decision, by result.",
    labelNames: ["result"],
    buckets: [0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.1],
    registers,
  });
  const binds = new Counter({
    name: `${prefix}binds_total`,
    help: "Binds sent to the API server, by result.",
    labelNames: ["result"],
    registers,
  });
  const evictions = new Counter({
    name: `${prefix}evictions_total`,
    help: "Apps unbound from their node, by reason.",
    labelNames: ["reason"],
    registers,
  });
  const leader = new Gauge({
    name: `${prefix}leader`,
    help: "1 if this scheduler is the leader, else 0.",
    registers,
  });
  const pending = new Gauge({
    name: `${prefix}pending_apps`,
    help: "Apps waiting for a node, by queue.",
    labelNames: ["queue"],
    registers,
  });
  const nodes = new Gauge({
    name: `${prefix}nodes`,
    help: "Nodes by the state of their agent.",
    labelNames: ["agent"],
    registers,
  });
  const apps = new Gauge({ name: `${prefix}apps`, help: "NCApps in the cluster.", registers });
  const overQuota = new Gauge({
    name: `${prefix}namespaces_over_quota`,
    help: "Namespaces whose bound NCApps use more than a ResourceQuota allows.",
    registers,
  });
  return {
    decided: (result, ms) => decisions.observe({ result }, ms / 1000),
    wrote: (result) => binds.inc({ result }),
    evicted: (reason) => evictions.inc({ reason }),
    render(now) {
      leader.set(now.leader ? 1 : 0);
      apps.set(now.apps);
      overQuota.set(now.namespacesOverQuota);
      for (const [queue, size] of Object.entries(now.queues)) pending.set({ queue }, size);
      for (const [agent, count] of Object.entries(now.nodes)) nodes.set({ agent }, count);
      return registers[0]!.metrics();
    },
  };
}
