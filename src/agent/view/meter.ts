/**
 * Keeps the latest measurement of every running app: soon after a start, then once per period.
 */
import { setImmediate } from "node:timers/promises";
import { measure, type NodeSize, type Reading, zeroReading } from "../../supervisor/metering.ts";
import type { Usage } from "../../supervisor/confinement/confinement.ts";
import type { Measured } from "../../supervisor/status.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { AppRecord, Run } from "../../supervisor/types.ts";

export interface Meter {
  /** Measures one app, if it runs. */
  read(key: string): Promise<void>;
  /** Measures all. */
  readAll(): Promise<void>;
  /** What the present run used when it was measured last. */
  latest(key: string): Measured | undefined;
  /** The kernel's counters as they were read last, for the present run. */
  reading(key: string): Reading | undefined;
}

interface Entry {
  runId: string;
  reading: Reading;
  measured: Measured;
}

const appsAtATime = 4;

/** `onMeasured` is called for every app that was measured. */
export function createMeter(
  { supervisor, size, onMeasured, now = Date.now }: {
    supervisor: Supervisor;
    size: NodeSize;
    onMeasured: (key: string) => void;
    now?: () => number;
  },
): Meter {
  const entries = new Map<string, Entry>();
  const openedAt = now();

  const read = async (key: string) => {
    const record = supervisor.get(key)?.record;
    const run = record?.run;
    const usage = run && await supervisor.readUsage(key);
    if (!record || !run || !usage) {
      entries.delete(key);
      return;
    }
    const known = entries.get(key);
    const reading = { at: now(), usage };
    const before = known && isComparable(known, run, usage) ? known.reading : mayShare(record, openedAt)
      // What other runs have used before cannot be told from what this one has.
      ? reading
      : zeroReading(run.startedAt ?? run.createdAt);
    const measured = measure(before, reading, size);
    // Who shows the figures knows by the object that nothing has changed.
    const same = known && isSame(known.measured, measured);
    entries.set(key, { runId: run.id, reading, measured: same ? known.measured : measured });
    onMeasured(key);
  };

  /** What was measured of a run that is over says nothing of the next. */
  const current = (key: string): Entry | undefined => {
    const entry = entries.get(key);
    return entry && entry.runId === supervisor.get(key)?.record.run?.id ? entry : undefined;
  };

  return {
    read,
    async readAll() {
      const keys = new Set(supervisor.list().map(({ key }) => key));
      for (const key of entries.keys()) if (!keys.has(key)) entries.delete(key);
      let count = 0;
      for (const key of keys) {
        await read(key);
        // The kernel's files are read in one go: without this, hundreds of apps would hold up everybody else.
        if (++count % appsAtATime === 0) await setImmediate();
      }
    },
    latest: (key) => current(key)?.measured,
    reading: (key) => current(key)?.reading,
  };
}

/** Runs that live beside one another share the counters of their app, and one that outlives another goes on with them. */
function isComparable({ runId, reading }: Entry, run: Run, { counters }: Usage): boolean {
  return runId === run.id || (counters !== undefined && counters === reading.usage.counters);
}

/** Whether the counters of a run may be older than it: others live beside it, or may have before this agent came. */
function mayShare({ app, run, others = [] }: AppRecord, agentCameAt: number): boolean {
  const isAllowed = app.spec.concurrencyPolicy === "Allow";
  return others.length > 0 || (isAllowed && run !== undefined && run.createdAt < agentCameAt);
}

function isSame(before: Measured, after: Measured): boolean {
  return (Object.keys(after) as (keyof Measured)[]).every((name) => before[name] === after[name]);
}
