/**
 * Imports the few files of undici that are used: its index also loads fetch, WebSocket, mocks and caches, which costs 4 MB
 * of memory (docs/decisions/0004). package.json pins the exact version, since these paths are not part of its API.
 */
import AgentClass from "undici/lib/dispatcher/agent.js";
import sendRequest from "undici/lib/api/api-request.js";
import type * as undici from "undici";

export type { Dispatcher } from "undici";

export const Agent = AgentClass as unknown as typeof undici.Agent;

export type RequestOptions = undici.Dispatcher.RequestOptions & { origin: string };

/** Sends a request. Resolves with the response headers; the caller must read or destroy the body. */
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

/** Loads the proxy support, which most nodes do not need. */
export async function loadProxyAgent(): Promise<typeof undici.ProxyAgent> {
  const [proxyAgent, dispatcher, connect] = await Promise.all([
    import("undici/lib/dispatcher/proxy-agent.js"),
    import("undici/lib/dispatcher/dispatcher.js"),
    import("undici/lib/api/api-connect.js"),
  ]);
  // ProxyAgent opens its tunnels with this method, which the index of undici would add.
  const prototype = dispatcher.default.prototype as { connect?: unknown };
  prototype.connect ??= connect.default;
  return proxyAgent.default as unknown as typeof undici.ProxyAgent;
}
