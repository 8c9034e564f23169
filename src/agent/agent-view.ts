import type { AgentView, AppView, Check } from "../server/view.ts";
import type { Source } from "../sources/source.ts";
import type { Confinement } from "../supervisor/confinement.ts";
import { logPath } from "../supervisor/layout.ts";
import { folderOf } from "../supervisor/record-store.ts";
import type { SupervisedApp, Supervisor } from "../supervisor/supervisor.ts";
import type { Sync } from "../sync/sync.ts";
import type { AgentOptions } from "./options.ts";
import type { StatusBoard } from "./status-board.ts";

export interface ViewParts {
  options: AgentOptions;
  confinement: Confinement;
  supervisor: Supervisor;
  board: StatusBoard;
  sources: Source[];
  sync: Sync;
  startedAt: Date;
  now?: () => number;
}

/** What the server may show of the agent; everything comes from memory. */
export function createAgentView(parts: ViewParts): AgentView {
  const { options, confinement, supervisor, sources, sync, startedAt, now = Date.now } = parts;
  const view = (known: SupervisedApp) => appView(known, parts);
  return {
    version: options.version,
    node: options.nodeName,
    startedAt,
    limits: {
      enforced: !confinement.whyNoLimits,
      message: confinement.whyNoLimits || "enforced by cgroup v2",
    },
    sources: () => sources.map((source) => ({ name: source.name, ...source.health() })),
    problems: () => sync.problems(),
    apps: () => supervisor.list().map(view).sort(byKey),
    app(namespace, name) {
      const known = supervisor.get(`${namespace}/${name}`);
      return known && view(known);
    },
    checks: () => [
      ...sources.map(sourceCheck),
      syncCheck(sync.lastSync() ?? startedAt.getTime(), now(), options.syncPeriodMs),
    ],
  };
}

function appView({ key, record }: SupervisedApp, { options, board }: ViewParts): AppView {
  return {
    app: record.app,
    source: record.source,
    origin: record.origin,
    status: board.status(key) ?? {},
    logFile: logPath({ stateDir: options.stateDir, logDir: options.logDir }, folderOf(record.app)),
  };
}

function sourceCheck(source: Source): Check {
  const { ready, message } = source.health();
  return { name: `source-${source.name}`, ok: ready, message };
}

/** A sync that is three periods late means that the agent itself is stuck. */
function syncCheck(lastSync: number, now: number, periodMs: number): Check {
  const age = Math.round((now - lastSync) / 1000);
  return { name: "sync", ok: now - lastSync < 3 * periodMs, message: `last compared ${age} s ago` };
}

function byKey(one: AppView, other: AppView): number {
  return keyOf(one) < keyOf(other) ? -1 : 1;
}

function keyOf({ app }: AppView): string {
  return `${app.metadata.namespace}/${app.metadata.name}`;
}
