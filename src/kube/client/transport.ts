/**
 * HTTP to one API server over undici.
 *
 * Guarantees: connections are kept alive and shared; a changed certificate, authority or proxy opens new connections, while
 * requests in flight finish on the old ones. HTTP/1.1 only: a watch has its own connection, so one that dies silently
 * affects no other request.
 * Caveat: only connecting has a time limit here. All other deadlines are the caller's, through `signal`.
 */
import { Agent, type Dispatcher, loadProxyAgent, request, type RequestOptions } from "../../lib/undici.ts";
import type { KubeAccess, TlsMaterial } from "../access/access.ts";

export interface TransportRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: Record<string, string | string[]>;
  body?: string;
  tls: TlsMaterial;
  signal: AbortSignal;
}

export interface TransportResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: AsyncIterable<Uint8Array>;
}

export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>;
  close(): void;
}

/** The proxy of `access` may change. */
export function createTransport(
  access: Pick<KubeAccess, "server" | "proxy">,
  { connectTimeoutMs = 10_000 } = {},
): Transport {
  let current: { tls: TlsMaterial; proxy?: string; dispatcher: Promise<Dispatcher> } | undefined;

  const close = () => {
    current?.dispatcher.then((old) => old.close()).catch(() => {});
    current = undefined;
  };
  return {
    async send({ tls, ...rest }) {
      const { server, proxy } = access;
      if (current?.tls !== tls || current.proxy !== proxy?.href) {
        close();
        const dispatcher = createDispatcher(tls, proxy, connectTimeoutMs);
        current = { tls, proxy: proxy?.href, dispatcher };
      }
      const options = { ...rest, origin: server.origin, headersTimeout: 0, bodyTimeout: 0 };
      const { statusCode, headers, body } = await request(
        await current!.dispatcher,
        options as RequestOptions,
      );
      return { status: statusCode, headers, body };
    },
    close,
  };
}

async function createDispatcher(
  tls: TlsMaterial,
  proxy: URL | undefined,
  timeout: number,
): Promise<Dispatcher> {
  // The API server keeps idle connections for minutes; Leases are renewed every 10 s.
  const options = { keepAliveTimeout: 60_000, allowH2: false };
  if (!proxy) return new Agent({ ...options, connect: { ...tls, timeout } });
  const ProxyAgent = await loadProxyAgent();
  return new ProxyAgent({
    ...options,
    uri: proxy.href,
    connectTimeout: timeout,
    requestTls: { ...tls, timeout },
  });
}
