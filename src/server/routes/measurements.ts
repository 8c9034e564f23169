/** The routes of measurements: for Prometheus, for clients of the kubelet's summary, and for the dashboard. */
import type { Context } from "hono";
import { exposeMetrics, metricsType } from "../../lib/metrics.ts";
import { readQuery, wholeNumber } from "./query.ts";
import type { Services } from "../services.ts";
import { summarize } from "./summary.ts";

/** Everything in the text format of Prometheus. What collects it is loaded at the first request. */
export async function sendMetrics(context: Context, { view, counters }: Services): Promise<Response> {
  const { collectMetrics } = await import("../metrics.ts");
  const text = await exposeMetrics(collectMetrics(view, counters));
  return context.body(text, 200, { "content-type": metricsType });
}

/** The kubelet's summary, with apps in place of pods. */
export function sendSummary(context: Context, { view }: Services): Response {
  return context.json(summarize(view, new Date()));
}

/** The last half hour, or the samples after `since`. */
export function sendHistory(context: Context, { view }: Services): Response {
  const { since = -1 } = readQuery<{ since: number }>(context, { since: wholeNumber(1e12) });
  return context.json(view.history(since));
}
