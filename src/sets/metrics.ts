/** The metrics of sets, in their own registry. Only the leader has values: a standby would report every set a second time. */
import { Gauge, Registry } from "prom-client";
import type { AppSet } from "./types.ts";

export interface SetsMetrics {
  render(sets: Iterable<AppSet>): Promise<string>;
}

export function createSetsMetrics(): SetsMetrics {
  const registers = [new Registry()];
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `nckubelet_set_${name}`, help, labelNames: ["namespace", "set"], registers });
  const counts = {
    desired: gauge("desired", "Apps that an NCAppSet should have."),
    updated: gauge("updated", "Apps of an NCAppSet that have its newest revision."),
    available: gauge("available", "Apps of an NCAppSet that are available."),
    failed: gauge(
      "failed",
      "Apps of an NCAppSet that crash, cannot start or did not become available in time.",
    ),
  };
  const stalled = gauge(
    "stalled",
    "1 if the rollout of an NCAppSet has stopped because apps failed, else 0.",
  );
  return {
    render(sets) {
      for (const one of [...Object.values(counts), stalled]) one.reset();
      for (const { metadata: { namespace, name }, status = {} } of sets) {
        const labels = { namespace, set: name };
        for (const [field, one] of Object.entries(counts)) {
          one.set(labels, status[field as keyof typeof counts] ?? 0);
        }
        const isStalled = status.conditions?.some(({ type, status }) =>
          type === "Stalled" && status === "True"
        );
        stalled.set(labels, isStalled ? 1 : 0);
      }
      return registers[0]!.metrics();
    },
  };
}
