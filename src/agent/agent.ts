/**
 * Starts the agent from its parts, in this order: lock the state, connect to the cluster, choose the confinement, supervise the
 * apps, follow the sources, report, serve, repeat the periodic work. It closes in reverse.
 */
import { cpus, totalmem } from "node:os";
import { createAgentCounters } from "../server/counters.ts";
import type { AgentView } from "../server/view.ts";
import { readBootId } from "../supervisor/processes.ts";
import { createSync } from "../sync/sync.ts";
import { connectApiServer } from "./api-server-connection.ts";
import { createAppActions } from "./app-actions.ts";
import { chooseConfinement } from "./choose-confinement.ts";
import { createClusterReports } from "./cluster-reports.ts";
import { createSources } from "./create-sources.ts";
import { createSupervisor } from "./create-supervisor.ts";
import { lockState } from "./lock.ts";
import { createNode } from "./node/node.ts";
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
  createStatusBoard,
} from "./view/view.ts";
import { runWithScheduler } from "./with-scheduler.ts";

export interface RunningAgent {
  view: AgentView;
  /** Where it serves: the URLs of its ports, the path of its socket. */
  addresses: string[];
  /** Stops the agent. Apps keep running, unless the options say to stop them. */
  close(): Promise<void>;
}

/** Starts an agent; resolves when it serves and follows its sources. If the start fails, what was started is undone. */
export async function startAgent(options: AgentOptions): Promise<RunningAgent> {
  const { log, stateDir, logDir, maxApps, stopAppsOnExit } = options;
  await using opened = new AsyncDisposableStack();
  const size = { cpus: cpus().length, memoryBytes: totalmem() };
  const startedAt = new Date();
  const counters = createAgentCounters();

  opened.defer(await lockState(stateDir));
  const server = options.standalone ? undefined : await connectApiServer(options, counters.countRequest);
  const client = server?.client;
  opened.defer(() => client?.close());
  const bootId = await readBootId();
  const { release, ...confinements } = await chooseConfinement({ ...options, size });

  const supervisor = createSupervisor(options, confinements, client);
  const meter = createMeter({ supervisor, size });
  const board = createStatusBoard({ meter, bootId });
  const cluster = server && createClusterReports(options, server, { supervisor, board });
  opened.defer(async () => await cluster?.close());
  opened.defer(async () => {
    if (stopAppsOnExit || supervisor.list().length === 0) await release();
  });

  const { sources, socket } = createSources(options, { server, cluster, supervisor, counters });
  const sync = createSync({ order: sources.map(({ name }) => name), supervisor, log, maxApps });

  const reportAll = reportChanges({ supervisor, meter, board, cluster, log });
  observeStarts(supervisor, counters.appStarts, startedAt.getTime());

  const disk = createDiskCheck([stateDir, logDir]);
  const readiness = createNodeReadiness(options, { disk, sync, startedAt });
  const node = createNode({ options, client, supervisor, meter, size, ready: readiness.ready });
  const history = createHistory();
  const shown = { options, size, ...confinements, supervisor, board, meter, sources, sync, counters, disk };
  const view = createAgentView({ ...shown, history, node, startedAt });
  const actions = createAppActions({ source: socket, supervisor, sync, maxApps });
  const addresses = await openListeners(options, { view, actions, counters, log, client }, opened);

  opened.defer(() => supervisor.close());
  await supervisor.restore();
  // An app at rest does not change again: what an earlier agent could not report would never be reported.
  reportAll();
  void disk.refresh().then(() => readiness.update());
  if (stopAppsOnExit) opened.defer(() => supervisor.stopAll(options.stopTimeoutMs));
  for (const address of addresses) log.info("serving", { address });

  const stopping = new AbortController();
  const { signal } = stopping;
  const work = { options, supervisor, sync, cluster, counters, meter, history, node, disk, readiness };
  const running = [
    ...sources.map((source) => source.run(sync.desired.sinkFor(source.name), signal)),
    node.run(signal),
    ...startPeriodicWork(work, signal),
    ...(client && options.withScheduler
      ? [runWithScheduler({ ...options, access: client.access, onRequest: counters.countRequest }, signal)]
      : []),
  ].map((part) => part.catch((error) => log.error("a part of the agent has ended", { error })));
  opened.defer(async () => {
    stopping.abort();
    await Promise.allSettled(running);
  });

  const everything = opened.move();
  return { view, addresses, close: () => everything.disposeAsync() };
}
