/**
 * The agent: the parts of a node put together. Reads top-down as its story: take over what runs, follow the sources, keep the
 * apps as wanted, tell how they are.
 */
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { createAgentCounters } from "../server/counters.ts";
import type { AgentView } from "../server/view.ts";
import type { Source } from "../sources/source.ts";
import { createScriptFetcher } from "../supervisor/script/script.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import { createSync } from "../sync/sync.ts";
import {
  createAgentView,
  createDiskCheck,
  createHistory,
  createIdleApps,
  createMeter,
  createReadiness,
  createStatusBoard,
  observeStarts,
  samplePeriodMs,
  syncCheck,
  takeSample,
} from "./view/view.ts";
import { createAppActions } from "./app-actions.ts";
import { chooseConfinement } from "./choose-confinement.ts";
import { createValueResolver } from "./env-values.ts";
import { returnMemory } from "./return-memory.ts";
import { lockState } from "./lock.ts";
import type { AgentOptions } from "./options.ts";
import { type Cluster, connectCluster } from "./cluster.ts";
import { apiServerSource, createSources } from "./create-sources.ts";
import { openDoors } from "./open-listeners.ts";
import { createNode } from "./node.ts";
import { privateFolder } from "./private-folder.ts";
import { repeat } from "../lib/repeat.ts";
import { runWithScheduler } from "./with-scheduler.ts";

export interface RunningAgent {
  view: AgentView;
  /** Where it can be asked: the port's URL, the socket's path. */
  addresses: string[];
  /** Ends the agent; apps run on unless they are to go with it. */
  close(): Promise<void>;
}

const logCheckMs = 10_000;
/** How long the node may be in doubt before it is called otherwise. */
const longestDoubtMs = 30_000;

/** Starts an agent; resolves when it serves and its sources are being followed. What was begun is undone if that fails. */
export async function startAgent(options: AgentOptions): Promise<RunningAgent> {
  const { log, nodeName } = options;
  await using opened = new AsyncDisposableStack();
  const size = { cpus: cpus().length, memoryBytes: totalmem() };
  const startedAt = new Date();
  const counters = createAgentCounters();
  opened.defer(await lockState(options.stateDir));
  const cluster: Cluster | undefined = options.standalone ? undefined : await connectCluster(options, {
    known: () => supervisor.list().map(({ record }) => record),
    onRequest: counters.countRequest,
  });
  opened.defer(async () => await cluster?.close());
  const { confinement, confinementOf, release } = await chooseConfinement({ ...options, size });

  const supervisor = new Supervisor({
    layout: { stateDir: options.stateDir, logDir: options.logDir, privateDir: privateFolder(options) },
    confinement,
    confinementOf,
    nodeName,
    enforce: options.enforce,
    logs: options.logs,
    log,
    resolveValue: createValueResolver({ client: cluster?.client, nodeName }),
    fetchScript: createScriptFetcher({
      cacheDir: join(options.stateDir, "scripts"),
      onStale: ({ message }) => log.warn("using an older copy of a script", { why: message }),
    }),
  });
  // Where nothing runs, nothing is left.
  opened.defer(async () => {
    if (options.stopAppsOnExit || supervisor.list().length === 0) await release();
  });
  const meter = createMeter({ supervisor, size, onMeasured: (key) => report(key) });
  const board = createStatusBoard({ supervisor, meter });
  const idle = createIdleApps(meter.reading);
  const { sources, socket } = createSources(options, {
    client: cluster?.client,
    answered: cluster?.answered,
    lastKnown: (name) =>
      supervisor.list().map(({ record }) => record).filter(({ source }) => source === name),
    onWatchRestart: (reason) => counters.watchRestarts.add({ reason }),
  });
  const order = sources.map(({ name }) => name);
  const sync = createSync({ order, supervisor, log, maxApps: options.maxApps });
  const disk = createDiskCheck([options.stateDir, options.logDir]);
  // Not the API server's troubles, nor those of a manifest: the node is as good as before.
  const readiness = createReadiness(() => [
    disk.check(),
    syncCheck(sync.lastSync() ?? startedAt.getTime(), Date.now(), options.syncPeriodMs),
  ], { log, holdMs: Math.min(3 * options.syncPeriodMs, longestDoubtMs) });
  const { ready } = readiness;
  const node = createNode({ options, client: cluster?.client, supervisor, meter, size, ready });

  const report = (key: string) => {
    const known = supervisor.get(key)?.record;
    const status = board.status(key);
    if (known && status) cluster?.report(known, status);
  };
  supervisor.listen({
    changed({ key, record }) {
      report(key);
      if (record.phase === "Running" && !meter.latest(key)) {
        meter.read(key).catch((error) => log.error("measuring failed", { app: key, error }));
      }
    },
    event({ key, record }, event) {
      const say = event.type === "Warning" ? log.warn : log.info;
      say(event.message, { app: key, reason: event.reason });
      cluster?.recordEvent(record, event);
    },
    forgotten({ key, record }) {
      board.forget(key);
      idle.forget(key);
      cluster?.forget(record);
    },
  });

  const history = createHistory();
  observeStarts(supervisor, counters.appStarts, startedAt.getTime());
  const view = createAgentView({
    options,
    size,
    confinement,
    supervisor,
    board,
    meter,
    sources,
    sync,
    counters,
    disk,
    history,
    node,
    startedAt,
  });
  const actions = createAppActions({ source: socket, supervisor, sync, maxApps: options.maxApps });
  const addresses = await openDoors(
    options,
    { view, actions, counters, log, client: cluster?.client },
    opened,
  );
  opened.defer(() => supervisor.close());
  await supervisor.restore();
  // An app at rest changes no more: what an earlier agent could not report of it would never be told.
  for (const { key } of supervisor.list()) report(key);
  void disk.look().then(() => readiness.look());
  if (options.stopAppsOnExit) opened.defer(() => supervisor.stopAll(options.stopTimeoutMs));
  for (const address of addresses) log.info("serving", { address });

  const stopping = new AbortController();
  const sinkOf = ({ name }: Source) => {
    const sink = sync.desired.sinkFor(name);
    return name === apiServerSource && cluster ? cluster.watching(sink) : sink;
  };
  const running = [
    ...sources.map((source) => source.run(sinkOf(source), stopping.signal)),
    node.run(stopping.signal),
    repeat(options.syncPeriodMs, stopping.signal, async () => {
      const { complete } = counters.syncs.time(() => sync.reconcile());
      supervisor.tick();
      readiness.look();
      // Not waited for: an API server that hangs must not hold up the apps.
      void cluster?.syncMirrors(order.every((name) => complete.has(name)));
    }, log),
    repeat(options.reportPeriodMs, stopping.signal, () => meter.readAll(), log),
    repeat(samplePeriodMs, stopping.signal, async () => {
      takeSample(history, { supervisor, meter, node });
      readiness.look();
      // Not waited for: a disk that hangs is what the next look has to find.
      void disk.look();
    }, log),
    repeat(logCheckMs, stopping.signal, () => supervisor.rotateLogs(idle.isIdle), log),
    returnMemory(stopping.signal, log),
    ...(cluster && options.withScheduler
      ? [runWithScheduler(
        { ...options, access: cluster.client.access, onRequest: counters.countRequest },
        stopping.signal,
      )]
      : []),
  ].map((part) => part.catch((error) => log.error("a part of the agent has ended", { error })));
  opened.defer(async () => {
    stopping.abort();
    await Promise.allSettled(running);
  });

  const everything = opened.move();
  return { view, addresses, close: () => everything.disposeAsync() };
}
