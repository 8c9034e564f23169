import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { loadAccess } from "../../src/kube/access/access.ts";
import { type ClientOptions, createKubeClient, type KubeClient } from "../../src/kube/client/client.ts";
import { ca, server as serverPair } from "./access/certificates.ts";

export interface SeenRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: string;
  /** Which connection it came on. */
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

/** Runs `use` beside an HTTP server on loopback that answers as it is told. */
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
    for await (const chunk of incoming) body += chunk;
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
