/** `/containerLogs`: the log of an app, for `kubectl logs`. */
import { logParameters, type LogQuery, sendLines } from "../routes/routes.ts";
import { type KubeletContext, requireContainer } from "./context.ts";
import { readParameter } from "./query.ts";
import type { KubeletServices } from "./services.ts";

/** Reads the parameters of `v1.PodLogOptions`. */
export function readLogQuery(url: URL): Partial<LogQuery> {
  const found = Object.entries(logParameters).map((
    [name, read],
  ) => [name, readParameter<unknown>(url, name, read)]);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

export function sendContainerLog(context: KubeletContext, services: KubeletServices): Promise<Response> {
  const { view, logs, places: { followers, readers } } = services;
  const query = readLogQuery(new URL(context.req.url));
  return sendLines(context, requireContainer(context, services), query, { view, logs, followers, readers });
}
