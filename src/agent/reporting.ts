/** Reports what happens to apps: status and events to the cluster, events to the log, start times to the metrics. */
import type { Logger } from "../lib/log.ts";
import type { Histogram } from "../server/counters.ts";
import type { SupervisedApp, Supervisor } from "../supervisor/supervisor.ts";
import type { ClusterReports } from "./cluster-reports.ts";
import type { Meter, StatusBoard } from "./view/view.ts";

export interface ReportingParts {
  supervisor: Supervisor;
  meter: Meter;
  board: StatusBoard;
  /** Absent in a standalone agent. */
  cluster?: ClusterReports;
  log: Logger;
}

/** Reports every change and measurement from now on. Returns a function that reports all apps as they are. */
export function reportChanges({ supervisor, meter, board, cluster, log }: ReportingParts): () => void {
  const report = (app: SupervisedApp) => cluster?.report(app.record, board.status(app));
  supervisor.listen({
    changed(app) {
      report(app);
      const { key, record } = app;
      if (record.phase === "Running" && !meter.latest(app)) {
        meter.read(key).catch((error) => log.error("measuring failed", { app: key, error }));
      }
    },
    event({ key, record }, event) {
      const write = event.type === "Warning" ? log.warn : log.info;
      write(event.message, { app: key, reason: event.reason });
      cluster?.recordEvent(record, event);
    },
    forgotten({ key, record }) {
      board.forget(key);
      cluster?.forget(record);
    },
  });
  meter.listen((key) => {
    const app = supervisor.get(key);
    if (app) report(app);
  });
  return () => supervisor.list().forEach(report);
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
