/** What the agent counts about itself, for `/metrics`. In memory only: counting costs the same without a scraper. */
import { performance } from "node:perf_hooks";
import type { RequestReport } from "../kube/client/client.ts";

/** Counts durations, in seconds. */
export interface Histogram {
  observe(seconds: number): void;
  /** Calls `work` and observes its duration, also if it throws. */
  time<T>(work: () => T): T;
  snapshot(): { bounds: readonly number[]; counts: readonly number[]; sum: number; count: number };
}

export interface Counter<Labels extends Record<string, string>> {
  add(labels: Labels): void;
  snapshot(): { labels: Labels; value: number }[];
}

export interface AgentCounters {
  syncs: Histogram;
  appStarts: Histogram;
  apiRequests: Counter<{ verb: string; resource: string; code: string }>;
  watchRestarts: Counter<{ reason: string }>;
  /** Counts a request to the API server, and stores its outcome. */
  countRequest(report: RequestReport): void;
  /** The last completed request, and when it completed. */
  lastRequest(): { report: RequestReport; at: number } | undefined;
}

const syncBounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];
const startBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createAgentCounters({ now = Date.now }: { now?: () => number } = {}): AgentCounters {
  const apiRequests: AgentCounters["apiRequests"] = createCounter();
  let last: { report: RequestReport; at: number } | undefined;
  return {
    syncs: createHistogram(syncBounds),
    appStarts: createHistogram(startBounds),
    apiRequests,
    watchRestarts: createCounter(),
    countRequest(report) {
      const { verb, resource, code } = report;
      apiRequests.add({ verb, resource, code: String(code) });
      last = { report, at: now() };
    },
    lastRequest: () => last,
  };
}

/** Returns a histogram with these upper bounds; values above the last one count in the sum and the count only. */
export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = new Array<number>(bounds.length).fill(0);
  let [sum, count] = [0, 0];
  const observe = (seconds: number) => {
    const bucket = bounds.findIndex((bound) => seconds <= bound);
    if (bucket >= 0) counts[bucket]!++;
    sum += seconds;
    count++;
  };
  return {
    observe,
    time(work) {
      const start = performance.now();
      try {
        return work();
      } finally {
        observe((performance.now() - start) / 1000);
      }
    },
    snapshot: () => ({ bounds, counts: [...counts], sum, count }),
  };
}

export function createCounter<Labels extends Record<string, string>>(): Counter<Labels> {
  const entries = new Map<string, { labels: Labels; value: number }>();
  return {
    add(labels) {
      const key = JSON.stringify(labels);
      const entry = entries.get(key);
      if (entry) entry.value++;
      else entries.set(key, { labels, value: 1 });
    },
    snapshot: () => [...entries.values()].map((entry) => ({ ...entry })),
  };
}
