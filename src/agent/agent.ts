/**
 * The agent: the parts of a node put together. Reads top-down as its story: take over what runs, follow the sources, keep the
 * apps as wanted, tell how they are.
 */
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { createServerApp } from "../server/app.ts";
import { type Listener, listenOnPort, listenOnSocket } from "../server/listen.ts";
import type { AgentView } from "../server/view.ts";
import type { DesiredApp, Source, SourceSink } from "../sources/source.ts";
import { createScriptFetcher } from "../supervisor/fetch-script.ts";
import { keyOf, Supervisor } from "../supervisor/supervisor.ts";
import { createSync } from "../sync/sync.ts";
import { createAgentView } from "./agent-view.ts";
import { chooseConfinement } from "./confine.ts";
import { createValueResolver } from "./env-values.ts";
import { returnMemory } from "./return-memory.ts";
import { lockState } from "./lock.ts";
import { createMeter } from "./meter.ts";
import type { AgentOptions } from "./options.ts";
import { connectCluster } from "./cluster.ts";
import { apiServerSource, createSources } from "./create-sources.ts";
import { repeat } from "./repeat.ts";
import { createStatusBoard } from "./status-board.ts";

export interface RunningAgent {
  view: AgentView;
  /** Where it can be asked: the port's URL, the socket's path. */
  addresses: string[];
  /** Ends the agent; apps run on unless they are to go with it. */
  close(): Promise<void>;
}

const logCheckMs = 10_000;

/** Starts an agent; resolves when it serves and its sources are being followed. */
export async function startAgent(options: AgentOptions): Promise<RunningAgent> {
  const { log, nodeName } = options;
  const size = { cpus: cpus().length, memoryBytes: totalmem() };
  const stopping = new AbortController();
  const cluster = options.standalone ? undefined : await connectCluster(options);
  const { confinement, release } = await chooseConfinement({ ...options, size });

  const supervisor = new Supervisor({
    layout: { stateDir: options.stateDir, logDir: options.logDir },
    confinement,
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
  const meter = createMeter({ supervisor, size, onMeasured: (key) => report(key) });
  const board = createStatusBoard({ supervisor, meter });
  const sources: Source[] = createSources(options, cluster?.client);
  const sync = createSync({
    order: sources.map(({ name }) => name),
    supervisor,
    log,
    maxApps: options.maxApps,
  });

  const report = (key: string) => {
    const known = supervisor.get(key);
    const status = board.status(key);
    if (known && status && known.record.source === apiServerSource) cluster?.report(known.record.app, status);
  };
  supervisor.listen({
    changed(key) {
      report(key);
      if (supervisor.get(key)?.record.phase === "Running" && !meter.latest(key)) {
        meter.read(key).catch(logFailure);
      }
    },
    event(app, event) {
      const say = event.type === "Warning" ? log.warn : log.info;
      say(event.message, { app: keyOf(app), reason: event.reason });
      if (supervisor.get(keyOf(app))?.record.source === apiServerSource) cluster?.recordEvent(app, event);
    },
    forgotten(key, app) {
      board.forget(key);
      cluster?.forget(app);
    },
  });
  const sinkOf = ({ name }: Source) => {
    const sink = sync.desired.sinkFor(name);
    return name === apiServerSource && cluster ? teeSink(sink, ({ app }) => cluster.saw(app)) : sink;
  };
  const logFailure = (error: unknown) => log.error("measuring failed", { error });

  const unlock = await lockState(options.stateDir);
  await supervisor.restore();
  const view = createAgentView({
    options,
    confinement,
    supervisor,
    board,
    sources,
    sync,
    startedAt: new Date(),
  });
  const listeners = await openDoors(options, view);
  for (const { address } of listeners) log.info("serving", { address });
  const running = [
    ...sources.map((source) => source.run(sinkOf(source), stopping.signal)),
    repeat(options.syncPeriodMs, stopping.signal, async () => {
      await sync.reconcile();
      supervisor.tick();
    }, log),
    repeat(options.reportPeriodMs, stopping.signal, () => meter.readAll(), log),
    repeat(logCheckMs, stopping.signal, () => supervisor.rotateLogs(), log),
    returnMemory(stopping.signal, log),
  ];

  return {
    view,
    addresses: listeners.map(({ address }) => address),
    async close() {
      stopping.abort();
      if (options.stopAppsOnExit) await supervisor.stopAll(options.stopTimeoutMs);
      await supervisor.close();
      if (options.stopAppsOnExit) await release();
      await Promise.all(listeners.map((listener) => listener.close()));
      await cluster?.close();
      await Promise.allSettled(running);
      await unlock();
    },
  };
}

/** Shows each app that comes through, then passes it on. */
function teeSink(sink: SourceSink, show: (app: DesiredApp) => void): SourceSink {
  return {
    ...sink,
    replace(apps) {
      apps.forEach(show);
      sink.replace(apps);
    },
    upsert(app) {
      show(app);
      sink.upsert(app);
    },
  };
}

async function openDoors({ listen, socket }: AgentOptions, view: AgentView): Promise<Listener[]> {
  const app = createServerApp(view);
  const open: Listener[] = [];
  try {
    if (socket) open.push(await listenOnSocket(app, socket));
    if (listen) open.push(await listenOnPort(app, listen));
    return open;
  } catch (error) {
    await Promise.all(open.map((listener) => listener.close()));
    throw error;
  }
}
