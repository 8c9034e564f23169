/**
 * The only part of prom-client that is used, imported by its own file: the index also loads cluster support, push gateways and the
 * metrics of Node. package.json pins the exact version, since this path is not public API.
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
  /** Set where it differs from the family's name, as for the buckets of a histogram. */
  metricName?: string;
  labels?: Record<string, string>;
  /** Labels that samples of several families share: the same object is formatted once for all of them. */
  sharedLabels?: Record<string, string>;
  value: number;
}

/** How long a scrape may delay a health check. */
const sliceMs = 2;

/** Returns the text that Prometheus scrapes, and its content type. A long scrape yields to other requests between families. */
export async function expose(families: Family[]): Promise<{ text: string; contentType: string }> {
  const registry = new Registry();
  const texts: string[] = [];
  let since = performance.now();
  for (const family of families) {
    // All that a registry uses of a metric when it is scraped.
    const metric = { name: family.name, get: async () => family };
    registry.registerMetric(metric as unknown as promClient.Metric);
    texts.push(await registry.getSingleMetricAsString(family.name));
    if (performance.now() - since < sliceMs) continue;
    await setImmediate();
    since = performance.now();
  }
  return { text: `${texts.join("\n\n")}\n`, contentType: registry.contentType };
}
