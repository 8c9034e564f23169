import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { loadAccess } from "../../src/kube/access/access.ts";
import { type ClientOptions, createKubeClient, type KubeClient } from "../../src/kube/client/client.ts";
import { apiVersion } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import { ca, server as serverPair } from "./access/certificates.ts";
import { ncapp as buildApp } from "../builders.ts";

export interface SeenRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: string;
  /** The number of its connection. */
  connection: number;
}

/** Answers a request; `index` counts all requests of the server from 0. */
export type Answer = (request: SeenRequest, response: ServerResponse, index: number) => void;

export interface FakeServer {
  url: string;
  requests: SeenRequest[];
  /** Cuts every connection. */
  cut(): void;
}

/** Runs `use` with an HTTP server on loopback that answers with `answer`. */
export async function withServer<T>(
  answer: Answer,
  use: (server: FakeServer) => Promise<T>,
  { tls = false, wantClientCertificate = false } = {},
): Promise<T> {
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  const numbers = new WeakMap<Socket, number>();
  let connections = 0;
  const listener: RequestListener = async (incoming, response) => {
    const { pathname, searchParams } = new URL(incoming.url!, "http://fake");
    let body = "";
    try {
      for await (const chunk of incoming) body += chunk;
    } catch {
      return; // The client disconnected while it sent its request.
    }
    if (!numbers.has(incoming.socket)) numbers.set(incoming.socket, connections++);
    const { method = "", headers } = incoming;
    const connection = numbers.get(incoming.socket)!;
    const request = { method, path: pathname, query: searchParams, headers, body, connection };
    requests.push(request);
    answer(request, response, requests.length - 1);
  };
  const clientCheck = { requestCert: true, rejectUnauthorized: true, ca };
  const server = tls
    ? createTlsServer({ ...serverPair, ...(wantClientCertificate && clientCheck) }, listener)
    : createServer(listener);
  for (const event of ["connection", "secureConnection"]) {
    server.on(event, (socket: Socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    });
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cut = () => sockets.forEach((socket) => socket.destroy());
  try {
    return await use({ url: `${tls ? "https" : "http"}://127.0.0.1:${port}`, requests, cut });
  } finally {
    cut();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** The same, with a client for it. */
export function withClient<T>(
  answer: Answer,
  use: (client: KubeClient, server: FakeServer) => Promise<T>,
  options: ClientOptions = {},
): Promise<T> {
  return withServer(answer, async (server) => {
    const client = createKubeClient(await loadAccess({ server: server.url }), options);
    try {
      return await use(client, server);
    } finally {
      client.close();
    }
  });
}

/** Answers with JSON. */
export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** Answers with the Status that the API server sends for an error. */
export function refuse(
  response: ServerResponse,
  code: number,
  reason: string,
  message: string,
  headers = {},
) {
  json(
    response,
    { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message },
    code,
    headers,
  );
}

/** An NCApp as the API server returns it. */
export function ncapp(name: string, node = "node-a", metadata?: Partial<NCApp["metadata"]>): NCApp {
  const managed = { managedFields: [{ manager: "kubectl" }] };
  const spec = { shellFile: "/bin/true", nodeName: node };
  return buildApp({ metadata: { name, ...managed, ...metadata }, spec });
}

/** A list of NCApps. */
export function listOf(items: unknown, version = "10", more?: string) {
  return { apiVersion, kind: "NCAppList", metadata: { resourceVersion: version, continue: more }, items };
}

/** A watch event as it is sent. */
export function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

/** A bookmark at a version. */
export function bookmark(version: string): string {
  return line("BOOKMARK", { apiVersion, kind: "NCApp", metadata: { resourceVersion: version } });
}

/** An ERROR event. */
export function errorLine(code: number, reason: string, message: string): string {
  return line("ERROR", { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message });
}

/** Accepts a watch and sends the lines; the connection stays open. */
export function accept(response: ServerResponse, ...lines: (string | Uint8Array)[]) {
  response.writeHead(200, { "content-type": "application/json" });
  response.flushHeaders();
  for (const text of lines) response.write(text);
}

/** The bookmark that ends the objects of a streaming list. */
export function endOfList(version: string): string {
  const annotations = { "k8s.io/initial-events-end": "true" };
  return line("BOOKMARK", { apiVersion, kind: "NCApp", metadata: { resourceVersion: version, annotations } });
}

/** Rejects a streaming list as servers before 1.27 do. */
export function refuseStream(response: ServerResponse) {
  refuse(
    response,
    422,
    "Invalid",
    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch",
  );
}

interface Answers {
  lists?: Answer[];
  watches?: Answer[];
  /** Without them, streaming lists are rejected. */
  streams?: Answer[];
}

/** Answers lists, watches and streaming lists with the given answers in turn, and repeats the last one. */
export function apiServer({ lists = [], watches = [], streams = [] }: Answers): Answer {
  const never: Answer = (_, response) => accept(response);
  const inTurn = (answers: Answer[], otherwise: Answer): Answer => {
    let turn = 0;
    return (...asked) => (answers[Math.min(turn++, answers.length - 1)] ?? otherwise)(...asked);
  };
  const [list, watch] = [inTurn(lists, never), inTurn(watches, never)];
  const stream = inTurn(streams, (_, response) => refuseStream(response));
  return (request, response, index) => {
    const answer = isStream(request) ? stream : isWatch(request) ? watch : list;
    answer(request, response, index);
  };
}

/** Answers with a list. */
export function lists(items: unknown, version?: string, more?: string): Answer {
  return (_, response) => json(response, listOf(items, version, more));
}

/** Reports whether the request is a watch that starts from a list. */
export function isWatch({ query }: Pick<SeenRequest, "query">): boolean {
  return query.get("watch") === "true" && !isStream({ query });
}

/** Reports whether the request is a streaming list. */
export function isStream({ query }: Pick<SeenRequest, "query">): boolean {
  return query.get("sendInitialEvents") === "true";
}
