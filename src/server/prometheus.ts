/**
 * The one part of prom-client that is used, by its own file: the index loads clusters, push gateways and the metrics of Node too.
 * The exact version is pinned in package.json, since this path is no promise.
 */
import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import RegistryClass from "prom-client/lib/registry.js";
import type * as promClient from "prom-client";

export const Registry = RegistryClass as unknown as typeof promClient.Registry;

/** All samples of one name. */
export interface Family {
  name: string;
  help: string;
  type: "counter" | "gauge" | "histogram";
  values: Sample[];
}

export interface Sample {
  /** Where it is not the name of the family, as the buckets of a histogram. */
  metricName?: string;
  labels?: Record<string, string>;
  /** Labels that samples of several names have in common: the same object is written down once, whatever the number of names. */
  sharedLabels?: Record<string, string>;
  value: number;
}

/** As long as a health check may have to wait for a scrape. */
const sliceMs = 2;

/** The text that Prometheus scrapes, and its content type. Where it takes long, others get their turn between two names. */
export async function expose(families: Family[]): Promise<{ text: string; contentType: string }> {
  const registry = new Registry();
  const texts: string[] = [];
  let since = performance.now();
  for (const family of families) {
    // All that a registry asks of a metric when it is scraped.
    const metric = { name: family.name, get: async () => family };
    registry.registerMetric(metric as unknown as promClient.Metric);
    texts.push(await registry.getSingleMetricAsString(family.name));
    if (performance.now() - since < sliceMs) continue;
    await setImmediate();
    since = performance.now();
  }
  return { text: `${texts.join("\n\n")}\n`, contentType: registry.contentType };
}
