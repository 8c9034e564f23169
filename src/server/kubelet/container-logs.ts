/** `/containerLogs`: the log of an app, for `kubectl logs`. */
import { keyOf, splitAppKey } from "../../api/names.ts";
import { logParameters, type LogQuery, sendLines, wholeNumber } from "../routes/routes.ts";
import { abortWhen, type KubeletContext, requireContainer } from "./context.ts";
import { endOfRights } from "./lifetime.ts";
import { readParameter } from "./query.ts";
import type { KubeletServices } from "./services.ts";

/** A kubelet accepts every number of lines, however long logs are. */
const parameters = { ...logParameters, tailLines: wholeNumber(Number.MAX_SAFE_INTEGER) };

/** Reads the parameters of `v1.PodLogOptions`. */
export function readLogQuery(url: URL): Partial<LogQuery> {
  const found = Object.entries(parameters).map((
    [name, read],
  ) => [name, readParameter<unknown>(url, name, read)]);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

export function sendContainerLog(context: KubeletContext, services: KubeletServices): Promise<Response> {
  const { view, limits: { followers, readers } } = services;
  const query = readLogQuery(new URL(context.req.url));
  const found = requireContainer(context, services);
  const key = keyOf(found.app);
  const { namespace, name } = splitAppKey(key);
  const whyOver = () =>
    ["Succeeded", "Failed"].includes(view.app(namespace, name)?.status.phase ?? "")
      ? `${key} has ended`
      : undefined;
  // A Pod that has ended writes nothing more: the next run of its app is another Pod.
  const endOf = (signal: AbortSignal) =>
    AbortSignal.any([abortWhen(view, key, whyOver, signal), endOfRights(context, services, signal)]);
  return sendLines(context, found, query, { view, followers, readers }, endOf);
}
