/** Reports what happens to apps: status and events to the cluster, events to the log, start durations to the metrics. */
import type { Logger } from "../lib/log.ts";
import type { Histogram } from "../lib/metrics.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { ClusterReports } from "./cluster-reports.ts";
import type { Meter, StatusCache } from "./view/view.ts";

export interface ReportingParts {
  supervisor: Supervisor;
  meter: Meter;
  statuses: StatusCache;
  /** Absent in a standalone agent. */
  cluster?: ClusterReports;
  log: Logger;
}

/** Reports every change and measurement from now on. Returns a function that reports all apps as they are. */
export function reportChanges({ supervisor, meter, statuses, cluster, log }: ReportingParts): () => void {
  if (cluster) supervisor.listen(cluster);
  supervisor.listen({
    changed(app) {
      if (app.record.phase !== "Running") return;
      meter.begin(app).catch((error) => log.error("measuring failed", { app: app.key, error }));
    },
    event({ key }, { type, reason, message }) {
      const write = type === "Warning" ? log.warn : log.info;
      write(message, { app: key, reason });
    },
    forgotten: ({ key }) => statuses.forget(key),
  });
  meter.listen((key) => {
    const app = supervisor.get(key);
    if (app) cluster?.changed(app);
  });
  return () => supervisor.list().forEach((app) => cluster?.changed(app));
}

/** Observes the duration of every start that this agent makes, once per run. Runs that it took over are not its starts. */
export function observeStarts(supervisor: Supervisor, starts: Histogram, agentStartedAt: number): void {
  const seen = new Map<string, string>();
  supervisor.listen({
    changed({ key, record: { run } }) {
      if (!run?.startedAt || run.createdAt < agentStartedAt || seen.get(key) === run.id) return;
      seen.set(key, run.id);
      starts.observe(Math.max(0, run.startedAt - run.createdAt) / 1000);
    },
    event() {},
    forgotten: ({ key }) => void seen.delete(key),
  });
}
