/** What the kubelet API reports: health, Pods, and measurements for `kubectl top`. */
import { appKey, podContainer } from "../../api/names.ts";
import { exposeMetrics, metricsType } from "../../lib/metrics.ts";
import { summarize } from "../routes/routes.ts";
import type { KubeletContext } from "./context.ts";
import { resourceFamilies } from "./resource-metrics.ts";
import type { KubeletServices } from "./services.ts";

export function sendHealth(context: KubeletContext): Response {
  return context.text("ok");
}

export function sendPods(context: KubeletContext, { pods }: KubeletServices): Response {
  return context.json({ kind: "PodList", apiVersion: "v1", metadata: {}, items: pods.podList() });
}

export function sendStats(context: KubeletContext, { view, pods }: KubeletServices): Response {
  const summary = summarize(view, new Date(), ({ app: { metadata: { namespace = "default", name } } }) => {
    const pod = pods.podOf(appKey(namespace, name));
    return pod && { pod: pod.name, uid: pod.uid, container: podContainer };
  });
  return context.json(summary);
}

export async function sendResourceMetrics(
  context: KubeletContext,
  { view, pods }: KubeletServices,
): Promise<Response> {
  const text = await exposeMetrics(resourceFamilies(view, pods));
  return context.body(text, 200, { "content-type": metricsType });
}
