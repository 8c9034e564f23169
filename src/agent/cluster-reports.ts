/** What the agent writes to the API server about its apps: status, events, mirrors of local apps, and Pods. */
import { isMirrorOf, keyOf } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import { hasStatus } from "../kube/kube-error.ts";
import { ncapps } from "../kube/resources.ts";
import { listAll } from "../kube/watch/watch.ts";
import { sleep } from "../lib/sleep.ts";
import { createEventRecorder } from "../report/events/events.ts";
import { createLocalReports, createMirrors, type ServerApp } from "../report/mirrors/mirrors.ts";
import { createPods, type Pods } from "../report/pods/pods.ts";
import { createReleases, createStatusReporter, type ReportedApp } from "../report/status/status.ts";
import type { ServerObserver } from "../sources/api-server.ts";
import { sourceNames } from "../sources/source.ts";
import { hasStarted, holderOf, isPassing } from "../supervisor/status.ts";
import type { SupervisedApp, Supervisor, SupervisorListener } from "../supervisor/supervisor.ts";
import type { ApiServerConnection } from "./api-server-connection.ts";
import type { Gate } from "./node/node.ts";
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
  /** The Pods that show the apps. */
  pods: Pods;
  /** Flushes the last reports, then stops. */
  close(): Promise<void>;
}

const flushMs = 2000;
/** Apps that appear together, such as the files of a folder, get their first mirrors together. */
const firstMirrorMs = 200;
/** Most starts and stops take less: a report in the middle of one would slow it down, and be outdated when it arrives. */
const passingMs = 100;
/** When to ask again which apps an earlier agent did not release. */
const leftoversRetryMs = 30_000;

export function createClusterReports(
  { log, reportPeriodMs, nodeName, namespace, pods: podsMode }: AgentOptions,
  { client, onAnswer, answered }: ApiServerConnection,
  { supervisor, board, gate }: { supervisor: Supervisor; board: StatusBoard; gate: Gate },
): ClusterReports {
  const reporter = createStatusReporter({ client, node: nodeName, log, reportPeriodMs });
  const releases = createReleases({ client, node: nodeName, log });
  const pods = createPods({
    client,
    node: nodeName,
    namespace,
    log,
    mode: podsMode,
    mayWrite: () => gate.isOpen,
    answered,
  });
  onAnswer(() => {
    reporter.serverAnswered();
    releases.serverAnswered();
    pods.serverAnswered();
  });
  const recorder = createEventRecorder({ client, component: "nckubelet", node: nodeName, log });
  const ending = new AbortController();
  const { signal } = ending;
  const mirrors = createMirrors({
    client,
    node: nodeName,
    namespace,
    log,
    signal,
    onFound(key, mirror) {
      local.found(key, refOf(mirror), mirror.status);
      const known = supervisor.get(key);
      if (known) showPod(known, refOf(mirror));
    },
  });
  const showPod = (known: SupervisedApp, owner: ReportedApp, status = board.status(known)) =>
    pods.show({
      owner,
      app: known.record.app,
      status,
      started: status.phase === "Running" && hasStarted(known.record),
    });
  const local = createLocalReports({ reporter, recorder, targetOf: mirrors.targetOf });
  /** What the API server has for this node, by uid: mirrors whole, of apps only the identity. */
  let onServer = new Map<string, ServerApp>();
  let listed = false;
  /** Apps that were unbound or deleted and may not have stopped yet, by key. */
  const leaving = new Map<string, ReportedApp>();

  const observe = (app: NCApp) => {
    const { metadata, apiVersion, kind } = app;
    const kept = isMirrorOf(nodeName, app) ? app : { apiVersion, kind, metadata: refOf(app), spec: {} };
    onServer.set(metadata.uid ?? "", kept as ServerApp);
    releases.cancel(metadata.uid ?? "");
    reporter.objectSeen(refOf(app), app.status);
  };
  const lost = (app: ServerApp) => {
    const [key, ref] = [keyOf(app), refOf(app)];
    reporter.objectLost(ref);
    if (supervised(key) !== ref.uid) return;
    leaving.set(key, ref);
    releases.stopping(ref);
  };
  /** Returns the uid of an app of the API server that the supervisor has. */
  const supervised = (key: string) => {
    const record = supervisor.get(key)?.record;
    return record?.source === sourceNames.apiServer ? record.app.metadata.uid : undefined;
  };
  /** Releases what an earlier agent has stopped without reporting it, or does not remember. */
  const releaseLeftovers = async () => {
    const isHeld = ({ spec, status }: NCApp) => status?.nodeName === nodeName && spec.nodeName !== nodeName;
    const list = (fieldSelector?: string) =>
      listAll<NCApp>(client, { resource: ncapps, namespace, fieldSelector, keep: isHeld, signal });
    while (!signal.aborted) {
      try {
        const { items } = await list(`status.nodeName=${nodeName}`).catch((error) => {
          // Servers before 1.31, and older CRDs, cannot select by this field.
          if (hasStatus(error, 400)) return list();
          throw error;
        });
        // What runs of an app on hold is unknown: this node keeps it until an operator has restored or removed its record.
        return items.filter((app) => !supervisor.isOnHold(app)).forEach((app) =>
          supervised(keyOf(app)) === app.metadata.uid
            ? releases.stopping(refOf(app))
            : releases.stopped(refOf(app))
        );
      } catch (error) {
        log.debug("cannot list the apps that this node still holds; retrying", { error });
      }
      await sleep(leftoversRetryMs, signal);
    }
  };
  const syncMirrors = async (complete: boolean) => {
    if (!listed || !gate.isOpen) return;
    const apps = supervisor.list().map(({ record }) => record)
      .filter(({ source }) => source !== sourceNames.apiServer)
      .map(({ app }): NCApp => app);
    await mirrors.sync(apps, [...onServer.values()], complete);
    if (complete) pods.complete();
  };

  const release = (key: string, app: ReportedApp) => {
    leaving.delete(key);
    releases.stopped(app);
  };

  let isDue = false;
  const mirrorSoon = async () => {
    if (isDue) return;
    isDue = true;
    await sleep(firstMirrorMs, signal);
    isDue = false;
    if (!signal.aborted) await syncMirrors(false);
  };

  const report = (known: SupervisedApp) => {
    if (!gate.isOpen) return;
    const { app, source } = known.record;
    const status = board.status(known);
    const left = leaving.get(known.key);
    // Another app has its name: the one that left is gone.
    if (left && left.uid !== app.metadata.uid) release(known.key, left);
    if (source === sourceNames.apiServer) {
      const holder = holderOf(known.record, nodeName);
      // While another node holds the app, that node shows it.
      if (holder === nodeName) showPod(known, refOf(app), status);
      else pods.remove(known.key);
      return reporter.report(refOf(app), holder === undefined ? status : { ...status, nodeName: holder });
    }
    if (!local.has(keyOf(app))) void mirrorSoon();
    local.report(keyOf(app), status);
    const mirror = mirrors.targetOf(keyOf(app));
    if (mirror) showPod(known, mirror, status);
  };

  /** The keys of apps whose state may pass before it is worth a report. */
  const passing = new Set<string>();
  const reportPassing = (key: string) => {
    const known = passing.delete(key) ? supervisor.get(key) : undefined;
    if (known) report(known);
  };

  return {
    observer: {
      // While the gate is closed, another agent may act for the node; when it opens, everything is listed again.
      listed(apps) {
        if (!gate.isOpen) return;
        const before = onServer;
        onServer = new Map();
        if (!listed) {
          void mirrorSoon();
          void releaseLeftovers();
        }
        listed = true;
        apps.forEach(observe);
        for (const [uid, app] of before) if (!onServer.has(uid)) lost(app);
      },
      applied(app) {
        if (gate.isOpen) observe(app);
      },
      deleted({ metadata: { uid = "" } }) {
        if (!gate.isOpen) return;
        const app = onServer.get(uid);
        if (app) lost(app);
        onServer.delete(uid);
      },
    },
    changed(known) {
      const { key, record } = known;
      if (record.source !== sourceNames.apiServer || !isPassing(known)) return report(known);
      if (!passing.has(key)) void sleep(passingMs, signal).then(() => reportPassing(key));
      passing.add(key);
    },
    event({ record: { app, source } }, event) {
      if (gate.why !== undefined) return;
      if (source === sourceNames.apiServer) recorder.record(refOf(app), event);
      else local.record(keyOf(app), event);
    },
    forgotten({ key, record: { app, source } }) {
      pods.remove(key);
      const target = source === sourceNames.apiServer ? refOf(app) : mirrors.targetOf(keyOf(app));
      if (target) reporter.forget(target.namespace, target.name, target.uid);
      if (target && source === sourceNames.apiServer) release(keyOf(app), target);
      local.forget(keyOf(app));
    },
    syncMirrors,
    pods,
    async close() {
      passing.forEach(reportPassing);
      await Promise.all([reporter, recorder, releases, pods].map((writer) => writer.flush(flushMs)));
      ending.abort();
      releases.close();
      pods.close();
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
