/** A kubelet API on loopback without TLS, and clients that open streams to it. */
import { once } from "node:events";
import { request } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import {
  createKubeletApp,
  type KubeletServices,
  waitForStreams,
} from "../../../src/server/kubelet/kubelet.ts";
import { closeServer, createBoundedServer, defaultBounds } from "../../../src/server/listen/listen.ts";
import { type ClientStream, SpdyClient } from "../spdy/client.ts";
import { kubeletServices } from "./fake-kubelet.ts";

export async function startKubelet(fields: Partial<KubeletServices> = {}) {
  const services = kubeletServices(fields);
  const app = createKubeletApp(services);
  const server = createBoundedServer(app, defaultBounds, { upgrades: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    if (!server.listening) return;
    await closeServer(server);
    await waitForStreams(services);
  };
  return { port, services, close, [Symbol.asyncDispose]: close };
}

export interface StreamOptions {
  token?: string;
  protocol?: string | string[];
  headers?: Record<string, string>;
}

/** Asks for streams; resolves to a client, or to the answer of a server that refuses. */
export async function askForStreams(
  port: number,
  path: string,
  { token = "writer", protocol = ["v5.channel.k8s.io", "v4.channel.k8s.io"], headers = {} }: StreamOptions =
    {},
): Promise<SpdyClient | { status: number; body: string }> {
  const call = request({
    host: "127.0.0.1",
    port,
    path,
    method: "POST",
    agent: false,
    headers: {
      connection: "Upgrade",
      upgrade: "SPDY/3.1",
      authorization: `Bearer ${token}`,
      "x-stream-protocol-version": protocol,
      ...headers,
    },
  }).end();
  const upgraded = once(call, "upgrade") as Promise<[unknown, Socket]>;
  upgraded.catch(() => {});
  return await Promise.race([
    upgraded.then(([, socket]) => new SpdyClient(socket)),
    once(call, "response").then(async ([response]) => {
      let body = "";
      for await (const chunk of response.setEncoding("utf8")) body += chunk;
      return { status: response.statusCode as number, body };
    }),
  ]);
}

/** Opens streams of a command: those that the types name. */
export async function openStreams(
  port: number,
  path: string,
  types: string[],
  options?: StreamOptions,
): Promise<{ client: SpdyClient; streams: Record<string, ClientStream> }> {
  const client = await askForStreams(port, path, options);
  if (!(client instanceof SpdyClient)) throw new Error(`refused: ${client.status} ${client.body}`);
  const streams = Object.fromEntries(types.map((streamType) => [streamType, client.open({ streamType })]));
  await client.replied();
  return { client, streams };
}
