/**
 * Starts the agent from its parts, in this order: lock the state, connect to the cluster, choose the confinement, supervise the
 * apps, follow the sources, report, serve, repeat the periodic work. It closes in reverse.
 */
import { cpus, totalmem } from "node:os";
import { waitAtMost } from "../lib/sleep.ts";
import { createAgentCounters } from "../server/counters.ts";
import type { PortProblems } from "../server/listen/listen.ts";
import type { AgentView } from "../server/view.ts";
import { createFolderValues } from "../sources/folder-values.ts";
import { openLauncher } from "../supervisor/launcher/launcher.ts";
import { historyFolder } from "../supervisor/layout.ts";
import { readBootId } from "../supervisor/processes.ts";
import type { SupervisorOptions } from "../supervisor/supervisor.ts";
import { createSync } from "../sync/sync.ts";
import { connectApiServer } from "./api-server-connection.ts";
import { createAppActions } from "./app-actions.ts";
import { createAppHistory, recordHistory } from "./app-history/app-history.ts";
import { chooseConfinement, type Confined, type ConfineOptions } from "./choose-confinement.ts";
import { createClusterReports } from "./cluster-reports.ts";
import { createSources } from "./create-sources.ts";
import { createSupervisor } from "./create-supervisor.ts";
import { createKubeletEndpoint, createOwnCertificate, openKubeletListener } from "./kubelet/kubelet.ts";
import { lockState } from "./lock.ts";
import { createMembership, createNode } from "./node/node.ts";
import { allowStopTime, isShuttingDown } from "./node-shutdown.ts";
import { openListeners } from "./open-listeners.ts";
import type { AgentOptions } from "./options.ts";
import { startPeriodicWork } from "./periodic-work.ts";
import { observeStarts, reportChanges } from "./reporting.ts";
import {
  createAgentView,
  createDiskCheck,
  createHistory,
  createMeter,
  createNodeReadiness,
  createStatusCache,
  fillFromPast,
} from "./view/view.ts";
import { runWithController } from "./with-controller.ts";

export interface RunningAgent {
  view: AgentView;
  /** Where it serves: the URLs of its ports, the path of its socket. */
  addresses: string[];
  /** The link that opens the dashboard, with its token; undefined while no loopback address is served. */
  dashboardURL(): string | undefined;
  /** Stops the agent. Apps keep running, unless the node is shutting down or the options say to stop them. */
  close(): Promise<void>;
}

/** What an agent without processes replaces: everything between the supervisor and the kernel, and how it reaches the API server. */
export interface AgentParts {
  confine?: (options: ConfineOptions) => Promise<Confined>;
  launchBy?: typeof openLauncher;
  decorate?: SupervisorOptions["decorate"];
  connect?: typeof connectApiServer;
}

/** Starts an agent; resolves when it serves and follows its sources. If the start fails, what was started is undone. */
export async function startAgent(
  options: AgentOptions,
  parts: AgentParts = {},
): Promise<RunningAgent> {
  const { log, stateDir, logDir, maxApps, stopAppsOnExit } = options;
  const { confine = chooseConfinement, launchBy = openLauncher, connect = connectApiServer, decorate } =
    parts;
  await using opened = new AsyncDisposableStack();
  const size = { cpus: cpus().length, memoryBytes: totalmem() };
  const startedAt = new Date();
  const counters = createAgentCounters();

  opened.defer(await lockState(stateDir));
  const appHistory = createAppHistory({ folder: historyFolder({ stateDir }), log });
  opened.defer(() => appHistory.close());
  const server = options.standalone ? undefined : await connect(options, counters.countRequest);
  const client = server?.client;
  opened.defer(() => client?.close());
  if (client) counters.credentials.follow(() => client.access.expiries());
  const bootId = readBootId();
  const { release, confinement } = await confine({ ...options, size });

  const launcher = await launchBy(options);
  opened.defer(() => launcher.close());
  const values = options.manifests ? createFolderValues(options.manifests) : undefined;
  const supervisor = createSupervisor(options, { confinement, launcher, decorate }, { client, values });
  const meter = createMeter({ supervisor, size });
  const statuses = createStatusCache({ meter, bootId });
  const membership = await createMembership({ options, supervisor, bootId });
  const { gate } = membership;
  const cluster = server && createClusterReports(options, server, { supervisor, statuses, gate, size });
  opened.defer(async () => await cluster?.close());
  opened.defer(async () => {
    if (stopAppsOnExit || supervisor.list().length === 0) await release();
  });

  const { sources, socket } = createSources(options, { server, cluster, supervisor, counters, gate, values });
  const sync = createSync({ order: sources.map(({ name }) => name), supervisor, log, maxApps });

  const reportAll = reportChanges({ supervisor, meter, statuses, cluster, log });
  gate.onOpen(reportAll);
  const pruneHistory = recordHistory(appHistory, supervisor, log);
  observeStarts(supervisor, counters.appStarts, startedAt.getTime());

  const disk = createDiskCheck([stateDir, logDir]);
  const readiness = createNodeReadiness(options, { disk, sync, startedAt });
  const ports: PortProblems = new Map();
  const kubelet = createKubeletEndpoint({ isActing: () => gate.isOpen, log });
  gate.onOpen(kubelet.update);
  const certificate = createOwnCertificate(options, client);
  const node = createNode({
    options,
    client,
    membership,
    supervisor,
    meter,
    size,
    ready: readiness.ready,
    kubeletPort: kubelet.port,
    onNode(seen) {
      cluster?.pods.nodeSeen(seen);
      kubelet.nodeSeen(seen);
      certificate.nodeSeen(seen);
    },
  });
  // A write that fails is repeated with the next look at the Node.
  kubelet.onChange(() => void node.registerOnce().catch(() => {}));
  const history = createHistory();
  const view = createAgentView({
    options,
    size,
    confinement,
    launcher,
    supervisor,
    statuses,
    meter,
    sources,
    sync,
    counters,
    disk,
    ports,
    history,
    appHistory,
    node,
    startedAt,
  });
  if (client && cluster && options.kubeletListen) {
    const { readPair } = certificate;
    const { credentials } = counters;
    const served = { client, view, launcher, ports, pods: cluster.pods, readPair, credentials };
    kubelet.start((onPort) => openKubeletListener(options, served, onPort));
  }
  const actions = createAppActions({ source: socket, supervisor, sync, maxApps, nodeName: options.nodeName });
  const { addresses, dashboardURL } = await openListeners(options, {
    view,
    actions,
    counters,
    log,
    client,
    ports,
    readPair: certificate.readPair,
  }, opened);
  opened.defer(() => kubelet.close());

  opened.defer(() => supervisor.close());
  await supervisor.restore();
  // An app at rest does not change again: what an earlier agent could not report would never be reported.
  reportAll();
  void disk.refresh().then(() => readiness.update());
  void pruneHistory();
  void fillFromPast(history, appHistory, supervisor.list().map(({ key }) => key));
  opened.defer(async () => {
    if (await isShuttingDown(log)) {
      const timeoutMs = supervisor.longestGraceMs + options.stopTimeoutMs;
      log.info("the node is shutting down: stopping all apps", { longest: `${timeoutMs / 1000} s` });
      await allowStopTime(timeoutMs, options);
      await supervisor.stopAll(timeoutMs, "NodeShutdown");
    } else if (stopAppsOnExit) await supervisor.stopAll(options.stopTimeoutMs);
  });
  for (const address of addresses) log.info("serving", { address });

  const stopping = new AbortController();
  const { signal } = stopping;
  const work = {
    options,
    supervisor,
    sync,
    cluster,
    counters,
    meter,
    history,
    appHistory,
    pruneHistory,
    node,
    disk,
    readiness,
  };
  const running = [
    ...sources.map((source) => source.run(sync.desired.sinkFor(source.name), signal)),
    node.run(signal),
    ...(server?.keepIdentity ? [server.keepIdentity(signal)] : []),
    certificate.run(signal),
    ...startPeriodicWork(work, signal),
    ...(client && options.controllers
      ? [runWithController({ ...options, access: client.access, onRequest: counters.countRequest }, signal)]
      : []),
  ].map((part) => part.catch((error) => log.error("a part of the agent has ended", { error })));
  opened.defer(async () => {
    stopping.abort();
    // A part that a hung mount blocks must not keep the agent from exiting.
    await waitAtMost(5000, Promise.allSettled(running));
  });

  const everything = opened.move();
  return { view, addresses, dashboardURL, close: () => everything.disposeAsync() };
}
