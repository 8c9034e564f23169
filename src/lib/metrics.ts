/**
 * Metrics for Prometheus: counted in plain numbers, which cost the same without a scraper, and formatted when they are scraped.
 * prom-client has no times for samples, which metrics-server needs, and would take 2 MB.
 */
import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";

/** All samples of one name. */
export interface Family {
  name: string;
  help: string;
  type: "counter" | "gauge" | "histogram";
  values: Sample[];
}

export interface Sample {
  /** Follows the family's name, as for the buckets of a histogram. */
  suffix?: string;
  labels?: Record<string, string>;
  value: number;
  /** When it was measured, in milliseconds since 1970, if not now. */
  time?: number;
}

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

/** The samples of a histogram, all with these labels. */
export function histogramSamples(histogram: Histogram, labels: Record<string, string> = {}): Sample[] {
  const { bounds, counts, sum, count } = histogram.snapshot();
  let below = 0;
  const buckets = counts.map((count, index) => [String(bounds[index]), below += count] as const);
  return [
    ...[...buckets, ["+Inf", count] as const].map(([le, value]) => ({
      suffix: "_bucket",
      labels: { le, ...labels },
      value,
    })),
    { suffix: "_sum", labels, value: sum },
    { suffix: "_count", labels, value: count },
  ];
}

/** How long a scrape may delay a health check. */
const sliceMs = 2;

/** The content type of what `exposeMetrics` returns. */
export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

/** Returns the text that is scraped. A long scrape yields to other requests between families. */
export async function exposeMetrics(families: Family[]): Promise<string> {
  const texts: string[] = [];
  let since = performance.now();
  for (const { name, help, type, values } of families) {
    const lines = values.map((sample) => `${name}${formatSample(sample)}\n`);
    texts.push(`# HELP ${name} ${escape(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`);
    if (performance.now() - since < sliceMs) continue;
    await setImmediate();
    since = performance.now();
  }
  return texts.join("\n");
}

function formatSample({ suffix = "", labels = {}, value, time }: Sample): string {
  const pairs = Object.entries(labels).map(([name, text]) =>
    `${name}="${escape(text).replaceAll('"', '\\"')}"`
  );
  const shown = value === Infinity ? "+Inf" : value === -Infinity ? "-Inf" : value;
  return `${suffix}${pairs.length > 0 ? `{${pairs}}` : ""} ${shown}${time === undefined ? "" : ` ${time}`}`;
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
