/** The metrics of sets. Only the leader has values: a standby would report every set a second time. */
import { exposeMetrics, type Family } from "../lib/metrics.ts";
import type { AppSet } from "./types.ts";

export async function renderSetsMetrics(sets: Iterable<AppSet>): Promise<string> {
  const all = [...sets];
  const gauge = (
    name: string,
    help: string,
    valueOf: (status: NonNullable<AppSet["status"]>) => number,
  ): Family => ({
    name: `nckubelet_set_${name}`,
    help,
    type: "gauge",
    values: all.map(({ metadata: { namespace, name: set }, status = {} }) => ({
      labels: { namespace, set },
      value: valueOf(status),
    })),
  });
  return await exposeMetrics([
    gauge("desired", "Apps that an NCAppSet should have.", ({ desired = 0 }) => desired),
    gauge("updated", "Apps of an NCAppSet that have its newest revision.", ({ updated = 0 }) => updated),
    gauge("available", "Apps of an NCAppSet that are available.", ({ available = 0 }) => available),
    gauge(
      "failed",
      "Apps of an NCAppSet that crash, cannot start or did not become available in time.",
      ({ failed = 0 }) => failed,
    ),
    gauge(
      "stalled",
      "1 if the rollout of an NCAppSet has stopped because apps failed, else 0.",
      ({ conditions = [] }) =>
        conditions.some(({ type, status }) => type === "Stalled" && status === "True") ? 1 : 0,
    ),
  ]);
}
