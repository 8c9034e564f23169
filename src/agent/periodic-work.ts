/** What the agent does at fixed intervals, independent of events. */
import { repeat } from "../lib/sleep.ts";
import type { NodeState } from "../node/node-agent.ts";
import type { AgentCounters } from "../server/counters.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { Sync } from "../sync/sync.ts";
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
  node: { state(): NodeState };
  disk: DiskCheck;
  readiness: Readiness;
}

/** Starts the periodic work; each promise resolves after the signal aborts. */
export function startPeriodicWork(parts: PeriodicParts, signal: AbortSignal): Promise<void>[] {
  const { options, supervisor, sync, cluster, counters, meter, history, node, disk, readiness } = parts;
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
    returnMemory(signal, log),
  ];
}
