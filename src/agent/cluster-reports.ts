/** Reports the supervisor's apps to the API server (report/apps/), while this agent acts for its node. */
import { type AppReports, createAppReports, type ReportedApp } from "../report/apps/apps.ts";
import { sourceNames } from "../sources/source.ts";
import { holderOf, isPassing, isStarted } from "../supervisor/status.ts";
import type { NodeSize } from "../supervisor/metering.ts";
import type { SupervisedApp, Supervisor, SupervisorListener } from "../supervisor/supervisor.ts";
import type { ApiServerConnection } from "./api-server-connection.ts";
import type { Gate } from "./node/node.ts";
import type { AgentOptions } from "./options.ts";
import type { StatusCache } from "./view/view.ts";

/** Listens to the supervisor: reports every change and event of an app. */
export type ClusterReports = SupervisorListener & Omit<AppReports, keyof SupervisorListener>;

export function createClusterReports(
  { log, reportPeriodMs, nodeName: node, namespace, pods: mode }: AgentOptions,
  { client, onAnswer, answered }: ApiServerConnection,
  { supervisor, statuses, gate, size }: {
    supervisor: Supervisor;
    statuses: StatusCache;
    gate: Gate;
    size: NodeSize;
  },
): ClusterReports {
  const reported = (known: SupervisedApp): ReportedApp => ({
    key: known.key,
    app: known.record.app,
    isLocal: known.record.source !== sourceNames.apiServer,
    // Built when it is read: most changes in the middle of a start or stop are not reported.
    get status() {
      return statuses.of(known);
    },
    started: isStarted(known.record),
    holder: holderOf(known.record, node),
    isPassing: isPassing(known),
  });
  const reports = createAppReports({
    client,
    node,
    namespace,
    size,
    log,
    reportPeriodMs,
    mode,
    isActing: () => gate.isOpen,
    answered,
    apps: {
      get(key) {
        const known = supervisor.get(key);
        return known && reported(known);
      },
      list: () => supervisor.list().map(reported),
      isOnHold: (app) => supervisor.isOnHold(app),
    },
  });
  onAnswer(reports.serverAnswered);
  return {
    ...reports,
    changed: (known) => reports.changed(reported(known)),
    event(known, event) {
      if (!event.isLocal) reports.event(reported(known), event);
    },
    forgotten: (known) => reports.forgotten(reported(known)),
  };
}
