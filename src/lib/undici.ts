/**
 * The few parts of undici that are used, file by file: its index loads fetch, WebSocket, mocks and caches too, which
 * costs 4 MB of memory (docs/decisions/0004). The exact version is pinned in package.json, since these paths are no promise.
 */
import AgentClass from "undici/lib/dispatcher/agent.js";
import sendRequest from "undici/lib/api/api-request.js";
import type * as undici from "undici";

export type { Dispatcher } from "undici";

export const Agent = AgentClass as unknown as typeof undici.Agent;

export type RequestOptions = undici.Dispatcher.RequestOptions & { origin: string };

/** Sends a request. Resolves with the head of the answer; its body must be read or destroyed. */
export function request(
  dispatcher: undici.Dispatcher,
  options: RequestOptions,
): Promise<undici.Dispatcher.ResponseData> {
  return (sendRequest as unknown as (
    this: undici.Dispatcher,
    options: RequestOptions,
  ) => ReturnType<typeof request>)
    .call(dispatcher, options);
}

/** Loads what only those need who have a proxy. */
export async function loadProxyAgent(): Promise<typeof undici.ProxyAgent> {
  const [proxyAgent, dispatcher, connect] = await Promise.all([
    import("undici/lib/dispatcher/proxy-agent.js"),
    import("undici/lib/dispatcher/dispatcher.js"),
    import("undici/lib/api/api-connect.js"),
  ]);
  // ProxyAgent asks for its tunnels by this method, which the index of undici would have added.
  const prototype = dispatcher.default.prototype as { connect?: unknown };
  prototype.connect ??= connect.default;
  return proxyAgent.default as unknown as typeof undici.ProxyAgent;
}
