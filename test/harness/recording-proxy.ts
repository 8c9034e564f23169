import { createServer, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import type { Cluster } from "./cluster.ts";

/** A request that went through the proxy, and its answer so far. */
export interface RecordedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  /** 0 before the answer. */
  status: number;
  /** The answer's body so far. */
  body: string;
}

export interface RecordingProxy extends AsyncDisposable {
  url: string;
  requests: RecordedRequest[];
}

/** Starts an HTTP server that passes requests to the API server with this user's token, as `kubectl proxy` does, and records them. */
export async function startRecordingProxy(cluster: Cluster, user: string): Promise<RecordingProxy> {
  const requests: RecordedRequest[] = [];
  const ca = readFileSync(cluster.caFile);
  const authorization = `Bearer ${cluster.tokenFor(user)}`;
  const record = ({ url = "", method = "" }: IncomingMessage) => {
    const { pathname: path, searchParams: query } = new URL(url, "http://proxy");
    const seen: RecordedRequest = { method, path, query, status: 0, body: "" };
    requests.push(seen);
    return seen;
  };
  const server = createServer((incoming, outgoing) => {
    const seen = record(incoming);
    const { method, url, headers: { host: _, ...headers } } = incoming;
    const forwarded = httpsRequest(cluster.server + url, {
      method,
      ca,
      headers: { ...headers, authorization },
    }, (answer) => {
      seen.status = answer.statusCode ?? 0;
      outgoing.writeHead(seen.status, answer.headers);
      outgoing.flushHeaders();
      answer.on("data", (chunk) => seen.body += chunk).on("error", () => outgoing.destroy());
      answer.pipe(outgoing);
    });
    forwarded.on("error", () => outgoing.destroy());
    outgoing.on("close", () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
