/**
 * The measurements of the last half hour, for the dashboard's charts: those of this agent, and before its start what earlier agents have
 * written to the history of each app.
 *
 * Memory is fixed: 1.4 kB per app. Shares are stored in hundredths of a percent.
 */
import type { NodeState } from "../../node/node-agent.ts";
import type { AppSeries, History, HistoryEntry, Series } from "../../server/view.ts";
import { totalKills } from "../../supervisor/decide/decide.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { AppHistory } from "../app-history/app-history.ts";
import type { Meter } from "./meter.ts";

export interface AppSample {
  /** Absent while nothing runs. */
  measured?: { cpuPCT?: number; memPCT: number; cpuThrottledPCT?: number };
  /** Counted since the app was created. */
  oomKills: number;
  restarts: number;
}

/** What an app used in the minutes before this time. */
export type PastUsage = Pick<HistoryEntry, "time" | "usage">;

export interface HistoryBuffer {
  /** Adds one sample; apps that are not in it are forgotten. */
  add(node: { cpuPCT: number; memPCT: number } | undefined, apps: Map<string, AppSample>): void;
  /** Fills the time before the first sample with what an earlier agent has measured; apps by `namespace/name`. */
  fill(past: Map<string, PastUsage[]>): void;
  /** Returns the samples after `since`, or all if `since` is unknown. */
  read(since: number): History;
  /** The number of the last sample; -1 before the first. */
  readonly last: number;
}

export const samplePeriodMs = 10_000;
/** What an entry of the history of an app covers. */
const pastPeriodMs = 300_000;
/** Where in the file of an app its last half hour is. */
const pastBytes = 8192;

export function createHistory({ samples = 180, now = Date.now } = {}): HistoryBuffer {
  const node = createRing(samples);
  const apps = new Map<string, AppRing>();
  let last = -1;
  let at = now();

  return {
    get last() {
      return last;
    },
    add(nodeUsage, measured) {
      last++;
      at = now();
      const slot = last % samples;
      node.cpu[slot] = encode(nodeUsage?.cpuPCT);
      node.mem[slot] = encode(nodeUsage?.memPCT);
      for (const key of apps.keys()) if (!measured.has(key)) apps.delete(key);
      for (const [key, sample] of measured) {
        const ring = apps.get(key) ?? createAppRing(samples, sample);
        apps.set(key, ring);
        writeSample(ring, slot, sample);
      }
    },
    fill(past) {
      // One round further, so that earlier samples have numbers, too. Those of this agent stay where they are in the rings.
      const own = last + 1;
      if (own >= samples || past.size === 0) return;
      last += samples;
      for (const [key, entries] of past) {
        const ring = apps.get(key) ?? createAppRing(samples, { oomKills: Infinity, restarts: Infinity });
        apps.set(key, ring);
        for (let number = own; number < samples; number++) {
          const time = at - (last - number) * samplePeriodMs;
          const covers = (entry: PastUsage) =>
            entry.usage && entry.time >= time && entry.time - time < pastPeriodMs;
          const usage = entries.find(covers)?.usage;
          ring.cpu[number] = encode(usage?.cpuPCT);
          ring.mem[number] = encode(usage?.memPCT);
          ring.throttled[number] = encode(usage?.throttledPCT);
        }
      }
    },
    read(since) {
      const oldest = Math.max(0, last - samples + 1);
      const first = since < oldest || since > last ? oldest : since + 1;
      const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
      return {
        periodSeconds: samplePeriodMs / 1000,
        first,
        last,
        at,
        node: readRing(node, numbers, samples),
        apps: Object.fromEntries([...apps].map(([key, ring]) => [key, readAppRing(ring, numbers, samples)])),
      };
    },
  };
}

/** Fills the charts of these apps from their histories. What cannot be read is missing there. */
export async function fillFromPast(
  history: HistoryBuffer,
  appHistory: AppHistory,
  keys: Iterable<string>,
): Promise<void> {
  const past = new Map<string, PastUsage[]>();
  for (const key of keys) {
    const entries = await appHistory.read(key, { lastBytes: pastBytes }).catch(() => []);
    if (entries.some(({ usage }) => usage)) past.set(key, entries);
  }
  history.fill(past);
}

export function takeSample(
  history: HistoryBuffer,
  { supervisor, meter, node }: { supervisor: Supervisor; meter: Meter; node: { state(): NodeState } },
): void {
  const apps = new Map<string, AppSample>();
  for (const app of supervisor.list()) {
    const measured = meter.latest(app);
    const { restarts } = app.record;
    apps.set(app.key, { measured, oomKills: totalKills(app.record, measured?.kills), restarts });
  }
  history.add(node.state().usage, apps);
}

interface Ring {
  cpu: Uint16Array;
  mem: Uint16Array;
}

interface AppRing extends Ring {
  throttled: Uint16Array;
  oomKills: Uint8Array;
  restarts: Uint8Array;
  /** The counts at the last sample. */
  before: { oomKills: number; restarts: number };
}

function createRing(samples: number): Ring {
  return { cpu: new Uint16Array(samples), mem: new Uint16Array(samples) };
}

function createAppRing(samples: number, { oomKills, restarts }: AppSample): AppRing {
  return {
    ...createRing(samples),
    throttled: new Uint16Array(samples),
    oomKills: new Uint8Array(samples),
    restarts: new Uint8Array(samples),
    before: { oomKills, restarts },
  };
}

function writeSample(ring: AppRing, slot: number, { measured, oomKills, restarts }: AppSample): void {
  ring.cpu[slot] = encode(measured?.cpuPCT);
  ring.mem[slot] = encode(measured?.memPCT);
  ring.throttled[slot] = encode(measured?.cpuThrottledPCT);
  ring.oomKills[slot] = oomKills > ring.before.oomKills ? 1 : 0;
  ring.restarts[slot] = restarts > ring.before.restarts ? 1 : 0;
  ring.before = { oomKills, restarts };
}

function readRing({ cpu, mem }: Ring, numbers: number[], samples: number): Series {
  const read = (values: Uint16Array) => numbers.map((number) => decode(values[number % samples]));
  return { cpuPCT: read(cpu), memPCT: read(mem) };
}

function readAppRing(ring: AppRing, numbers: number[], samples: number): AppSeries {
  const throttledPCT = numbers.map((number) => decode(ring.throttled[number % samples]));
  return {
    ...readRing(ring, numbers, samples),
    ...(throttledPCT.some((share) => share !== null && share > 0) && { throttledPCT }),
    oomKills: numbers.filter((number) => ring.oomKills[number % samples]),
    restarts: numbers.filter((number) => ring.restarts[number % samples]),
  };
}

/** 0 means not measured. A share over 100 is kept up to 655. */
function encode(percent: number | undefined): number {
  return percent === undefined ? 0 : Math.min(65_535, Math.round(percent * 100) + 1);
}

function decode(stored: number | undefined): number | null {
  return stored ? (stored - 1) / 100 : null;
}
