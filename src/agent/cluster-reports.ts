/** What the agent writes to the API server about its apps: status, events, and mirrors of local apps. */
import { isMirrorOf, keyOf } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import { sleep } from "../lib/sleep.ts";
import { createEventRecorder } from "../report/events/events.ts";
import { createLocalReports, createMirrors, type ServerApp } from "../report/mirrors/mirrors.ts";
import { createStatusReporter, type ReportedApp } from "../report/status/status.ts";
import type { ServerObserver } from "../sources/api-server.ts";
import { sourceNames } from "../sources/source.ts";
import type { Supervisor, SupervisorListener } from "../supervisor/supervisor.ts";
import type { ApiServerConnection } from "./api-server-connection.ts";
import type { AgentOptions } from "./options.ts";
import type { StatusBoard } from "./view/view.ts";

/** Listens to the supervisor: reports every change and event of an app. */
export interface ClusterReports extends SupervisorListener {
  observer: ServerObserver;
  /**
   * Syncs the mirrors with the apps, once the API server was listed; `complete`: every source has been read. Never throws.
   * The first mirror of an app does not wait for this call.
   */
  syncMirrors(complete: boolean): Promise<void>;
  /** Flushes the last reports, then stops. */
  close(): Promise<void>;
}

const flushMs = 2000;
/** Apps that appear together, such as the files of a folder, get their first mirrors together. */
const firstMirrorMs = 200;

export function createClusterReports(
  { log, reportPeriodMs, nodeName, namespace }: AgentOptions,
  { client, onAnswer }: ApiServerConnection,
  { supervisor, board }: { supervisor: Supervisor; board: StatusBoard },
): ClusterReports {
  const reporter = createStatusReporter({ client, node: nodeName, log, reportPeriodMs });
  onAnswer(reporter.serverAnswered);
  const recorder = createEventRecorder({ client, component: "nckubelet", node: nodeName, log });
  const ending = new AbortController();
  const { signal } = ending;
  const mirrors = createMirrors({
    client,
    node: nodeName,
    namespace,
    log,
    signal,
    onFound: (key, mirror) => local.found(key, refOf(mirror), mirror.status),
  });
  const local = createLocalReports({ reporter, recorder, targetOf: mirrors.targetOf });
  /** What the API server has for this node, by uid: mirrors whole, of apps only the identity. */
  let onServer = new Map<string, ServerApp>();
  let listed = false;

  const observe = (app: NCApp) => {
    const { metadata, apiVersion, kind } = app;
    const kept = isMirrorOf(nodeName, app) ? app : { apiVersion, kind, metadata: refOf(app), spec: {} };
    onServer.set(metadata.uid ?? "", kept as ServerApp);
    reporter.objectSeen(refOf(app), app.status);
  };
  const syncMirrors = async (complete: boolean) => {
    if (!listed) return;
    const apps = supervisor.list().map(({ record }) => record)
      .filter(({ source }) => source !== sourceNames.apiServer)
      .map(({ app }): NCApp => app);
    await mirrors.sync(apps, [...onServer.values()], complete);
  };

  let isDue = false;
  const mirrorSoon = async () => {
    if (isDue) return;
    isDue = true;
    await sleep(firstMirrorMs, signal);
    isDue = false;
    if (!signal.aborted) await syncMirrors(false);
  };

  return {
    observer: {
      listed(apps) {
        const before = onServer;
        onServer = new Map();
        if (!listed) void mirrorSoon();
        listed = true;
        apps.forEach(observe);
        for (const [uid, app] of before) if (!onServer.has(uid)) reporter.objectLost(refOf(app));
      },
      applied: observe,
      deleted({ metadata: { uid = "" } }) {
        const app = onServer.get(uid);
        if (app) reporter.objectLost(refOf(app));
        onServer.delete(uid);
      },
    },
    changed(known) {
      const { app, source } = known.record;
      const status = board.status(known);
      if (source === sourceNames.apiServer) return reporter.report(refOf(app), status);
      if (!local.has(keyOf(app))) void mirrorSoon();
      local.report(keyOf(app), status);
    },
    event({ record: { app, source } }, event) {
      if (source === sourceNames.apiServer) recorder.record(refOf(app), event);
      else local.record(keyOf(app), event);
    },
    forgotten({ record: { app, source } }) {
      const target = source === sourceNames.apiServer ? refOf(app) : mirrors.targetOf(keyOf(app));
      if (target) reporter.forget(target.namespace, target.name, target.uid);
      local.forget(keyOf(app));
    },
    syncMirrors,
    async close() {
      await Promise.all([reporter.flush(flushMs), recorder.flush(flushMs)]);
      ending.abort();
      reporter.close();
      recorder.close();
    },
  };
}

/** Identifies an object of the API server; with its version only where that is known to be the server's newest. */
function refOf({ metadata }: Pick<NCApp, "metadata">): ReportedApp {
  const { namespace = "", name, uid = "", resourceVersion } = metadata;
  return { namespace, name, uid, ...(resourceVersion ? { resourceVersion } : {}) };
}
