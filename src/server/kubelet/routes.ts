/**
 * Every path of the kubelet API, with the subresources of this Node of which the sender needs one: the verb is that of the method.
 * The API server's certificate has them all; metrics-server has `metrics`.
 */
import { attach, exec } from "./exec.ts";
import type { FrontRoute } from "../front.ts";
import type { KubeletEnv } from "./context.ts";
import { sendContainerLog } from "./container-logs.ts";
import { portForward } from "./port-forward.ts";
import { runCommand } from "./run-command.ts";
import { sendHealth, sendPods, sendResourceMetrics, sendStats } from "./reports.ts";
import type { KubeletServices } from "./services.ts";

export interface KubeletRoute extends FrontRoute<KubeletServices, KubeletEnv> {
  subresources: readonly string[];
  /** Its handler takes the connection over. */
  streams?: boolean;
}

const proxy = ["proxy"];
const pods = ["pods", "proxy"];
const container = ":namespace/:pod/:container";

export const kubeletRoutes: readonly KubeletRoute[] = [
  { method: "GET", path: "/healthz", subresources: ["healthz", "proxy"], handle: sendHealth },
  { method: "GET", path: "/pods", subresources: pods, large: true, handle: sendPods },
  { method: "GET", path: "/runningpods", subresources: pods, large: true, handle: sendPods },
  { method: "GET", path: "/stats/summary", subresources: ["stats"], large: true, handle: sendStats },
  {
    method: "GET",
    path: "/metrics/resource",
    subresources: ["metrics"],
    large: true,
    handle: sendResourceMetrics,
  },
  { method: "GET", path: `/containerLogs/${container}`, subresources: proxy, handle: sendContainerLog },
  // The API server asks for streams by POST, whatever kubectl speaks; by GET they would need no more than the right to read.
  { method: "POST", path: `/exec/${container}`, subresources: proxy, streams: true, handle: exec },
  { method: "POST", path: `/attach/${container}`, subresources: proxy, streams: true, handle: attach },
  {
    method: "POST",
    path: "/portForward/:namespace/:pod",
    subresources: proxy,
    streams: true,
    handle: portForward,
  },
  { method: "POST", path: `/run/${container}`, subresources: proxy, handle: runCommand },
];
