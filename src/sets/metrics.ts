/** The metrics of sets. Only the leader has values: a standby would report every set a second time. */
import { exposeMetrics, type Family } from "../lib/metrics.ts";
import type { AppSet } from "./types.ts";

export async function renderSetsMetrics(sets: Iterable<AppSet>): Promise<string> {
  const all = [...sets];
  const [jobs, others] = [all.filter(({ spec }) => spec.job), all.filter(({ spec }) => !spec.job)];
  const gauge = (
    name: string,
    help: string,
    valueOf: (status: NonNullable<AppSet["status"]>) => number,
    of: readonly AppSet[] = all,
  ): Family => ({
    name: `nckubelet_set_${name}`,
    help,
    type: "gauge",
    values: of.map(({ metadata: { namespace, name: set }, status = {} }) => ({
      labels: { namespace, set },
      value: valueOf(status),
    })),
  });
  return await exposeMetrics([
    gauge("desired", "Apps that an NCAppSet should have.", ({ desired = 0 }) => desired),
    gauge(
      "updated",
      "Apps of an NCAppSet that have its newest revision.",
      ({ updated = 0 }) => updated,
      others,
    ),
    gauge("available", "Apps of an NCAppSet that are available.", ({ available = 0 }) => available, others),
    gauge("active", "Apps of a job that run.", ({ active = 0 }) => active, jobs),
    gauge("succeeded", "Apps of a job that have completed.", ({ succeeded = 0 }) => succeeded, jobs),
    gauge(
      "failed",
      "Apps of an NCAppSet that crash, cannot start or did not become available in time; of a job, whose last run failed.",
      ({ failed = 0 }) => failed,
    ),
    gauge(
      "stalled",
      "1 if the rollout of an NCAppSet has stopped because apps failed, or its job has failed, else 0.",
      ({ conditions = [] }) =>
        conditions.some(({ type, status }) => type === "Stalled" && status === "True") ? 1 : 0,
    ),
  ]);
}
