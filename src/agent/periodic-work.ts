/** What the agent does at fixed intervals, independent of events. */
import { repeat } from "../lib/sleep.ts";
import type { NodeState } from "../node/node-agent.ts";
import type { AgentCounters } from "../server/counters.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { Sync } from "../sync/sync.ts";
import { type AppHistory, recordUsage } from "./app-history/app-history.ts";
import type { ClusterReports } from "./cluster-reports.ts";
import type { AgentOptions } from "./options.ts";
import { returnMemory } from "./return-memory.ts";
import {
  type DiskCheck,
  type HistoryBuffer,
  type Meter,
  type Readiness,
  samplePeriodMs,
  takeSample,
} from "./view/view.ts";

export interface PeriodicParts {
  options: AgentOptions;
  supervisor: Supervisor;
  sync: Sync;
  /** Absent in a standalone agent. */
  cluster?: ClusterReports;
  counters: AgentCounters;
  meter: Meter;
  history: HistoryBuffer;
  appHistory: AppHistory;
  pruneHistory: () => Promise<void>;
  node: { state(): NodeState };
  disk: DiskCheck;
  readiness: Readiness;
}

/** How often the usage of apps is written to their histories. */
const usagePeriodMs = 300_000;
const prunePeriodMs = 3_600_000;

/** Starts the periodic work; each promise resolves after the signal aborts. */
export function startPeriodicWork(parts: PeriodicParts, signal: AbortSignal): Promise<void>[] {
  const { options, supervisor, sync, cluster, counters, meter, history, appHistory, node, disk, readiness } =
    parts;
  const { log, syncPeriodMs, reportPeriodMs } = options;

  const syncAll = async () => {
    const { sources, complete } = counters.syncs.time(() => sync.reconcile());
    supervisor.tick();
    readiness.update();
    // Not awaited: an API server that hangs must not delay the apps.
    cluster?.syncMirrors([...sources].every((name) => complete.has(name)));
  };
  const sample = async () => {
    takeSample(history, { supervisor, meter, node });
    readiness.update();
    // Not awaited: the next check has to find that a disk hangs.
    void disk.refresh();
  };
  return [
    repeat(syncPeriodMs, signal, syncAll, log),
    repeat(reportPeriodMs, signal, () => meter.readAll(), log),
    repeat(samplePeriodMs, signal, sample, log),
    repeat(usagePeriodMs, signal, async () => recordUsage(appHistory, recentSamples(history)), log),
    repeat(prunePeriodMs, signal, parts.pruneHistory, log),
    returnMemory(signal, log),
  ];
}

/** The samples since the usage was written last. */
function recentSamples(history: HistoryBuffer) {
  return history.read(Math.max(-1, history.last - usagePeriodMs / samplePeriodMs));
}
