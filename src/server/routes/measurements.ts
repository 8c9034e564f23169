/** The routes that tell what was measured: to Prometheus, to whoever knows the kubelet, and to the dashboard. */
import type { Context } from "hono";
import { readQuery, wholeNumber } from "./query.ts";
import type { Services } from "../services.ts";
import { summarize } from "./summary.ts";

/** Everything in the text form of Prometheus. What makes it is loaded by the first one who asks. */
export async function sendMetrics(context: Context, { view, counters }: Services): Promise<Response> {
  const [{ collectMetrics }, { expose }] = await Promise.all([
    import("../metrics.ts"),
    import("../prometheus.ts"),
  ]);
  const { text, contentType } = await expose(collectMetrics(view, counters));
  return context.body(text, 200, { "content-type": contentType });
}

/** The kubelet's summary, with apps in the place of pods. */
export function sendSummary(context: Context, { view }: Services): Response {
  return context.json(summarize(view, new Date()));
}

/** The last half hour, or what of it came after sample `since`. */
export function sendHistory(context: Context, { view }: Services): Response {
  const { since = -1 } = readQuery<{ since: number }>(context, { since: wholeNumber(1e12) });
  return context.json(view.history(since));
}
