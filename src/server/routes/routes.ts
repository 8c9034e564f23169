/**
 * Every route of the agent's HTTP endpoint: one table, so that nothing else is open.
 *
 * Access depends on the listener. The unix socket, which its file mode restricts to root and the agent's user, serves everything, and
 * alone accepts changes. On loopback, which every user and every app can reach, health and measurements are open; apps, with their
 * arguments and their logs, need the token that the agent makes at its start. With TLS everything but liveness needs a token that may
 * `get` the node's `subresource`, as with the kubelet.
 */
import { listApps, showApp, showStatus } from "./apps.ts";
import { changeApp, deleteApp, putApp } from "./changes.ts";
import { sendAsset, sendDashboardURL } from "../dashboard/dashboard.ts";
import type { FrontRoute } from "../front.ts";
import { alive, sendChecks } from "../health.ts";
import { sendLog } from "./logs.ts";
import { sendHistory, sendMetrics, sendSummary } from "./measurements.ts";
import { listEvents, showHistory } from "./past.ts";
import type { Services } from "../services.ts";

export { logParameters, type LogQuery, sendLines } from "./logs.ts";
export { flag, wholeNumber } from "./query.ts";
export { requireCapacity } from "./stream.ts";
export { summarize } from "./summary.ts";
export { abortWhen } from "./watch.ts";

/**
 * `anyone`: on every listener; `local`: with a token, but on loopback without; `reader`: with a token where the listener requires
 * one; `socket`: on the unix socket only.
 */
export type Access = "anyone" | "local" | "reader" | "socket";
/** The subresources of a Node that a token may be allowed to read. */
export type Subresource = "proxy" | "metrics" | "stats";

export interface Route extends FrontRoute<Services> {
  access: Access;
  /** What the token has to be allowed to read; `proxy` if absent. */
  subresource?: Subresource;
}

const app = "/apps/:namespace/:name";

export const routes: readonly Route[] = [
  { method: "GET", path: "/", access: "anyone", handle: sendAsset("page") },
  { method: "GET", path: "/dashboard.js", access: "anyone", handle: sendAsset("script") },
  { method: "GET", path: "/dashboard.css", access: "anyone", handle: sendAsset("style") },
  { method: "GET", path: "/healthz", access: "anyone", handle: alive },
  { method: "GET", path: "/livez", access: "anyone", handle: alive },
  {
    method: "GET",
    path: "/readyz",
    access: "local",
    handle: (context, { view }) => sendChecks(context, view.checks()),
  },
  { method: "GET", path: "/status", access: "reader", large: true, handle: showStatus },
  { method: "GET", path: "/apps", access: "reader", large: true, handle: listApps },
  { method: "GET", path: "/events", access: "reader", large: true, handle: listEvents },
  { method: "GET", path: app, access: "reader", handle: showApp },
  { method: "GET", path: `${app}/history`, access: "reader", large: true, handle: showHistory },
  { method: "GET", path: `${app}/logs`, access: "reader", handle: sendLog },
  {
    method: "GET",
    path: "/metrics",
    access: "local",
    subresource: "metrics",
    large: true,
    handle: sendMetrics,
  },
  {
    method: "GET",
    path: "/stats/summary",
    access: "local",
    subresource: "stats",
    large: true,
    handle: sendSummary,
  },
  { method: "GET", path: "/history", access: "reader", large: true, handle: sendHistory },
  { method: "GET", path: "/dashboard-url", access: "socket", handle: sendDashboardURL },
  { method: "PUT", path: app, access: "socket", handle: putApp },
  { method: "DELETE", path: app, access: "socket", handle: deleteApp },
  { method: "POST", path: `${app}/restart`, access: "socket", handle: changeApp("restart") },
  { method: "POST", path: `${app}/stop`, access: "socket", handle: changeApp("stop") },
  { method: "POST", path: `${app}/start`, access: "socket", handle: changeApp("start") },
  { method: "POST", path: `${app}/reload`, access: "socket", handle: changeApp("reload") },
  { method: "POST", path: `${app}/trigger`, access: "socket", handle: changeApp("trigger") },
  { method: "POST", path: `${app}/undo`, access: "socket", handle: changeApp("undo") },
];
