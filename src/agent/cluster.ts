/**
 * The agent's side that speaks with the API server: the client, the status reports, the events, and the mirrors that show local
 * apps there.
 */
import { keyOf } from "../api/names.ts";
import type { NCApp, NCAppStatus } from "../api/types.ts";
import { loadAccess } from "../kube/access/access.ts";
import { createKubeClient, type KubeClient, type RequestReport } from "../kube/client/client.ts";
import { createPulse } from "../lib/pulse.ts";
import { sleep } from "../lib/sleep.ts";
import { version } from "../lib/version.ts";
import { createEventRecorder } from "../report/events/events.ts";
import { createLocalReports, createMirrors, isMirrorOf, type ServerApp } from "../report/mirrors/mirrors.ts";
import { createStatusReporter, type ReportedApp } from "../report/status/status.ts";
import type { SourceSink } from "../sources/source.ts";
import type { AppEvent, AppRecord } from "../supervisor/types.ts";
import { apiServerSource } from "./create-sources.ts";
import type { AgentOptions } from "./options.ts";

/** What the cluster needs to know of an app: the object, and which source wants it. */
export type KnownApp = Pick<AppRecord, "app" | "source">;

export interface Cluster {
  client: KubeClient;
  /** Calls back when the API server has answered a request well, unless what it returns is called before. */
  answered(callback: () => void): () => void;
  /** Stands before the sink of the API server's source: remembers what the server has, and passes on all but mirrors. */
  watching(sink: SourceSink): SourceSink;
  report(known: KnownApp, status: NCAppStatus): void;
  recordEvent(known: KnownApp, event: AppEvent): void;
  forget(known: KnownApp): void;
  /**
   * Brings the mirrors in line, once it is known what the server has; `complete` says that every source has been read. Never throws.
   * The first mirror of an app does not wait for it.
   */
  syncMirrors(complete: boolean): Promise<void>;
  /** Lets the last reports out, then ends. */
  close(): Promise<void>;
}

export interface ClusterParts {
  /** The apps of the node. */
  known: () => KnownApp[];
  onRequest?: (report: RequestReport) => void;
}

const lastReportsMs = 2000;
/** Apps that come together, such as the files of a folder, get their first mirrors together. */
const firstMirrorMs = 200;

/** Finds the API server by the options. Whether it answers is for the sources to find out, again and again. */
export async function connectCluster(
  options: AgentOptions,
  { known, onRequest }: ClusterParts,
): Promise<Cluster> {
  const { kubeconfig, server, env, log, reportPeriodMs, nodeName, namespace } = options;
  const access = await loadAccess({ kubeconfig, server, env });
  log.info("using the API server", { server: access.describe() });
  const pulse = createPulse();
  const client = createKubeClient(access, {
    userAgent: `nckubelet/${version}`,
    onRequest(report) {
      onRequest?.(report);
      if (report.code < 200 || report.code > 299) return;
      pulse.beat();
      reporter.heard();
    },
  });
  const reporter = createStatusReporter({ client, node: nodeName, log, reportPeriodMs });
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
  /** What the API server has for this node, by uid; mirrors included. */
  let onServer = new Map<string, ServerApp>();
  let listed = false;

  const remember = (app: NCApp) => {
    onServer.set(app.metadata.uid ?? "", app as ServerApp);
    reporter.saw(refOf(app), app.status);
  };
  const syncMirrors = async (complete: boolean) => {
    if (!listed) return;
    const apps = known().filter(({ source }) => source !== apiServerSource).map(({ app }) => app as NCApp);
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
    client,
    answered: pulse.onNext,
    watching: (sink) => ({
      ...sink,
      replace(list) {
        const before = onServer;
        onServer = new Map();
        if (!listed) void mirrorSoon();
        listed = true;
        for (const { app } of list) remember(app);
        for (const [uid, app] of before) if (!onServer.has(uid)) reporter.lost(refOf(app));
        sink.replace(list.filter(({ app }) => !isMirrorOf(nodeName, app)));
      },
      upsert(item) {
        remember(item.app);
        if (!isMirrorOf(nodeName, item.app)) sink.upsert(item);
      },
      remove(key, uid) {
        const app = onServer.get(uid);
        if (app) reporter.lost(refOf(app));
        onServer.delete(uid);
        sink.remove(key, uid);
      },
    }),
    report({ app, source }, status) {
      if (source === apiServerSource) return reporter.report(refOf(app), status);
      if (!local.has(keyOf(app))) void mirrorSoon();
      local.report(keyOf(app), status);
    },
    recordEvent({ app, source }, event) {
      if (source === apiServerSource) recorder.record(refOf(app), event);
      else local.record(keyOf(app), event);
    },
    forget({ app, source }) {
      const target = source === apiServerSource ? refOf(app) : mirrors.targetOf(keyOf(app));
      if (target) reporter.forget(target.namespace, target.name, target.uid);
      local.forget(keyOf(app));
    },
    syncMirrors,
    async close() {
      await Promise.all([reporter.flush(lastReportsMs), recorder.flush(lastReportsMs)]);
      ending.abort();
      reporter.close();
      recorder.close();
      client.close();
    },
  };
}

/** An object of the API server, with its version only where it is known to be the server's last word. */
function refOf({ metadata }: Pick<NCApp, "metadata">): ReportedApp {
  const { namespace = "", name, uid = "", resourceVersion } = metadata;
  return { namespace, name, uid, ...(resourceVersion ? { resourceVersion } : {}) };
}
