/** Keeps the latest measurement of every running app: soon after a start, then once per period. */
import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { measure, minRateMs, type NodeSize, type Reading } from "../../supervisor/metering.ts";
import type { Measured } from "../../supervisor/status.ts";
import type { SupervisedApp, Supervisor } from "../../supervisor/supervisor.ts";
import type { AppRecord, Run } from "../../supervisor/types.ts";

export interface Meter {
  /** Measures an app that has started: now, or soon if it is its first run. Does nothing for one that is measured already. */
  begin(app: SupervisedApp): Promise<void>;
  readAll(): Promise<void>;
  /** What the current run used when it was last measured. */
  latest(app: SupervisedApp): Measured | undefined;
  /** The kernel's counters as last read, for the current run. */
  reading(app: SupervisedApp): Reading | undefined;
  /** Calls back with every app that was measured. */
  listen(listener: (key: string) => void): void;
}

interface MeteredRun {
  runId: string;
  reading: Reading;
  /** Undefined until the run is measured. */
  measured?: Measured;
}

/** How many apps are measured before other work gets a turn. */
const batchSize = 4;
/** When a reading gives a rate, even if the timer is early. */
const soonMs = minRateMs + 100;

export function createMeter(
  { supervisor, size, now = () => performance.now(), later = runLater }: {
    supervisor: Supervisor;
    size: NodeSize;
    now?: () => number;
    later?: (ms: number, work: () => void) => void;
  },
): Meter {
  const entries = new Map<string, MeteredRun>();
  const listeners: ((key: string) => void)[] = [];

  const read = async (key: string) => {
    const record = supervisor.get(key)?.record;
    const run = record?.run;
    const usage = run && await supervisor.readUsage(key);
    if (!record || !run || !usage) {
      entries.delete(key);
      return;
    }
    const known = entries.get(key);
    const reading = { at: now(), time: Date.now(), usage };
    const before = known && isComparable(known, run, reading, size) ? known.reading : undefined;
    const measured = measure(before, reading, size);
    const hasRate = measured.cpuPCT !== undefined;
    // The first reading of a run gives no rate; the next one soon does.
    if (!hasRate && known?.runId !== run.id) {
      later(soonMs, () => readAgain(key));
    }
    // The same object means that nothing has changed; the status cache relies on it.
    const same = known && isDeepStrictEqual(known.measured, measured);
    entries.set(key, {
      runId: run.id,
      reading: hasRate || !before ? reading : before,
      measured: same || (!hasRate && known?.runId === run.id) ? known.measured ?? measured : measured,
    });
    for (const listener of listeners) listener(key);
  };

  const readAgain = (key: string) => void read(key).catch(() => entries.delete(key));

  /** The entry of the current run; figures of an earlier run do not apply to it. */
  const current = ({ key, record }: SupervisedApp): MeteredRun | undefined => {
    const entry = entries.get(key);
    return entry && entry.runId === record.run?.id ? entry : undefined;
  };

  return {
    async begin({ key, record }) {
      const { run } = record;
      if (!run || entries.get(key)?.runId === run.id) return;
      const ranMs = firstRunMs(record);
      if (ranMs === undefined) return await read(key);
      const usage = { cpuSeconds: 0, throttledSeconds: 0, memoryBytes: 0, processes: 0 };
      entries.set(key, { runId: run.id, reading: { at: now() - ranMs, usage } });
      later(soonMs - ranMs, () => readAgain(key));
    },
    async readAll() {
      const keys = new Set(supervisor.list().map(({ key }) => key));
      for (const key of entries.keys()) if (!keys.has(key)) entries.delete(key);
      let count = 0;
      for (const key of keys) {
        await read(key);
        // The kernel's files are read synchronously: hundreds of apps would block everything else.
        if (++count % batchSize === 0) await setImmediate();
      }
    },
    latest: (app) => current(app)?.measured,
    reading(app) {
      const reading = current(app)?.reading;
      return reading && isAssumed(reading) ? undefined : reading;
    },
    listen: (listener) => void listeners.push(listener),
  };
}

/**
 * Returns how long the first run of an app has run, undefined for any other run, and for one that has not just started. The counters
 * of a first run were zero at its start, so its first reading gives a rate.
 */
function firstRunMs({ run, others, lastExit }: AppRecord): number | undefined {
  const ranMs = Date.now() - (run?.startedAt ?? 0);
  return !others && !lastExit && ranMs >= 0 && ranMs < minRateMs ? ranMs : undefined;
}

/** Reports whether a reading is not the kernel's but the assumed one at the start of a first run. */
function isAssumed({ time }: Reading): boolean {
  return time === undefined;
}

/**
 * Reports whether a reading is of the same counters as the last one. Concurrent runs share the counters of their app, and the one
 * that outlives the other continues with them. An app whose record was lost has older counters than its first run can have: more
 * than all CPUs of the node give.
 */
function isComparable(
  { runId, reading: before }: MeteredRun,
  run: Run,
  { at, usage: { counters, cpuSeconds } }: Reading,
  { cpus }: NodeSize,
): boolean {
  if (isAssumed(before) && cpuSeconds > (at - before.at) / 1000 * cpus + 0.1) return false;
  return runId === run.id || (counters !== undefined && counters === before.usage.counters);
}

function runLater(ms: number, work: () => void): void {
  setTimeout(work, ms).unref();
}
