/** `/containerLogs`: the log of an app, for `kubectl logs`. */
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { Refusal } from "../refusal.ts";
import { logParameters, type LogQuery, sendLines, wholeNumber } from "../routes/routes.ts";
import { type KubeletContext, requireContainer } from "./context.ts";
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

/** A refusal is a sentence, as that of a kubelet: the API server makes its own Status of it, and would quote ours as JSON. */
export async function sendContainerLog(
  context: KubeletContext,
  services: KubeletServices,
): Promise<Response> {
  try {
    return await sendChosenLines(context, services);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code, message, options: { headers } } = error;
    return context.text(message, code as ContentfulStatusCode, headers);
  }
}

function sendChosenLines(context: KubeletContext, services: KubeletServices): Promise<Response> {
  const { view, limits: { followers, readers } } = services;
  const query = readLogQuery(new URL(context.req.url));
  const found = requireContainer(context, services);
  // A Pod that has ended writes nothing more: the next run of its app is another Pod.
  return sendLines(context, found, { ...query, untilEnd: true }, { view, followers, readers });
}
