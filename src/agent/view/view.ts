/**
 * What the agent shows of itself and of its apps, as the HTTP endpoint and reports read it (the interface is server/view.ts).
 *
 * meter.ts measures apps, status-cache.ts keeps the current status of each, history.ts keeps the last half hour for charts, and
 * checks.ts, disk-check.ts and readiness.ts answer /readyz and the Node's Ready condition.
 */
import { appKey, keyOf } from "../../api/names.ts";
import type { AgentCounters } from "../../server/counters.ts";
import type { AgentView, AppView } from "../../server/view.ts";
import type { NodeState } from "../../node/node-agent.ts";
import type { Source } from "../../sources/source.ts";
import { capsOf, type Confinement } from "../../supervisor/confinement/confinement.ts";
import type { Launcher } from "../../supervisor/launcher/launcher.ts";
import { folderOf, logPath, runFolder } from "../../supervisor/layout.ts";
import type { NodeSize } from "../../supervisor/metering.ts";
import type { SupervisedApp, Supervisor } from "../../supervisor/supervisor.ts";
import type { AppRecord } from "../../supervisor/types.ts";
import type { Sync } from "../../sync/sync.ts";
import { type AppHistory, readEvents } from "../app-history/app-history.ts";
import {
  apiServerCheck,
  authorizationCheck,
  cgroupsCheck,
  portsCheck,
  sourceCheck,
  syncCheck,
} from "./checks.ts";
import type { DiskCheck } from "./disk-check.ts";
import type { HistoryBuffer } from "./history.ts";
import type { Meter } from "./meter.ts";
import type { AgentOptions } from "../options.ts";
import type { StatusCache } from "./status-cache.ts";

export { createDiskCheck, type DiskCheck } from "./disk-check.ts";
export { createHistory, fillFromPast, type HistoryBuffer, samplePeriodMs, takeSample } from "./history.ts";
export { createMeter, type Meter } from "./meter.ts";
export { createNodeReadiness, type Readiness } from "./readiness.ts";
export { createStatusCache, type StatusCache } from "./status-cache.ts";

export interface ViewParts {
  options: AgentOptions;
  size: NodeSize;
  confinement: Confinement;
  launcher: Launcher;
  supervisor: Supervisor;
  statuses: StatusCache;
  meter: Meter;
  sources: Source[];
  sync: Sync;
  counters: AgentCounters;
  disk: DiskCheck;
  ports: ReadonlyMap<string, string>;
  history: HistoryBuffer;
  appHistory: AppHistory;
  node: { state(): NodeState };
  startedAt: Date;
  now?: () => number;
}

/** Returns what the server shows of the agent; everything but the past of apps comes from memory. */
export function createAgentView(parts: ViewParts): AgentView {
  const { options, size, confinement, supervisor, sources, sync, counters, appHistory, startedAt } = parts;
  const { now = Date.now } = parts;
  const view = (known: SupervisedApp) => appView(known, parts);
  const listeners = new Set<(key: string) => void>();
  const notify = (key: string) => listeners.forEach((listener) => listener(key));
  supervisor.listen({
    changed: ({ key }) => notify(key),
    event() {},
    forgotten: ({ key }) => notify(key),
  });
  parts.meter.listen(notify);
  return {
    version: options.version,
    node: options.nodeName,
    startedAt,
    size,
    limits: {
      enforced: !confinement.whyNoLimits,
      strict: options.enforce === "strict",
      message: confinement.whyNoLimits || "enforced by cgroup v2",
    },
    launcher: () => parts.launcher.state,
    sources: () => sources.map((source) => ({ name: source.name, ...source.health() })),
    problems: () => sync.problems(),
    apps: () => supervisor.list().map(view).sort(byKey),
    app(namespace, name) {
      const known = supervisor.get(appKey(namespace, name));
      return known && view(known);
    },
    events: (query) => readEvents(appHistory, query, supervisor.list().map(({ key }) => key).sort()),
    async appHistory(namespace, name, since) {
      const key = appKey(namespace, name);
      const entries = await appHistory.read(key, { since });
      return entries.length > 0 || supervisor.get(key) ? entries : undefined;
    },
    lostHistory: () => appHistory.lost,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    checks: () => [
      ...sources.map(sourceCheck),
      cgroupsCheck(confinement.whyNoLimits, supervisor.list()),
      parts.disk.result(),
      portsCheck(parts.ports),
      ...(options.standalone
        ? []
        : [apiServerCheck(counters.lastRequest(), now()), authorizationCheck(counters.refused())]),
      syncCheck(sync.lastSync() ?? startedAt.getTime(), now(), options.syncPeriodMs),
    ],
    nodeUsage: () => parts.node.state().usage,
    history: (since) => parts.history.read(since),
  };
}

function appView(known: SupervisedApp, { options, size, statuses, meter }: ViewParts): AppView {
  const { record } = known;
  const { app, run, phase } = record;
  const { stateDir, logDir } = options;
  const reading = meter.reading(known);
  return {
    app,
    source: record.source,
    origin: record.origin,
    status: statuses.of(known),
    logFile: logPath({ stateDir, logDir }, folderOf(app)),
    ...(run && phase === "Running" &&
      { run: { id: run.id, folder: runFolder({ stateDir, logDir }, run.id) } }),
    limits: limitsOf(record, size),
    usage: reading?.usage,
    ...(reading?.time === undefined ? {} : { usageTime: reading.time }),
    probeFailures: known.probeFailures,
  };
}

/** Returns the caps as the kernel gets them, before it rounds to whole pages. */
function limitsOf({ app, invalid }: AppRecord, { cpus, memoryBytes }: NodeSize): AppView["limits"] {
  if (invalid) return {};
  const { cpuPCT, memPCT } = capsOf(app);
  return {
    ...(cpuPCT === undefined ? {} : { cores: cpuPCT * cpus / 100 }),
    ...(memPCT === undefined ? {} : { memoryBytes: Math.floor(memPCT * memoryBytes / 100) }),
  };
}

function byKey(a: AppView, b: AppView): number {
  return keyOf(a.app) < keyOf(b.app) ? -1 : 1;
}
