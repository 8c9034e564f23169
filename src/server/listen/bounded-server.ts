/**
 * An HTTP server that cannot be taken down by those who hold on to it.
 *
 * Guarantees: a new connection is always let in. Where there are too many, the one goes that has waited longest without a request;
 * while all have one, the oldest goes. A request has to be there after a while, its head sooner, and an answer that nobody
 * reads is given up. Requests of one connection are worked on one after the other. What cannot be understood is answered as
 * Kubernetes `Status`, like every other error.
 */
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { reasons, Refusal, type RefusalCode, refusalStatus } from "../refusal.ts";

export interface Bounds {
  connections: number;
  /** For the head of a request. */
  headersMs: number;
  /** For a request with its body. */
  requestMs: number;
  /** For a reader that takes nothing of its answer. */
  stalledMs: number;
}

export const defaultBounds: Bounds = {
  connections: 256,
  headersMs: 10_000,
  requestMs: 30_000,
  stalledMs: 30_000,
};

/** A certificate and its key, as PEM. */
export interface KeyPair {
  cert: string;
  key: string;
}

/** Makes a server for what Hono serves; with a key pair it speaks TLS only. */
export function createBoundedServer(app: Hono, bounds: Bounds, pair?: KeyPair): Server {
  const { headersMs, requestMs, stalledMs } = bounds;
  const options = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(2000, headersMs),
  };
  const answer = getRequestListener(app.fetch, {
    errorHandler: () =>
      Response.json(refusalStatus(new Refusal(400, "the request makes no sense")), { status: 400 }),
  });
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    // What is left of a body that nobody wants would be read to its end, just to be thrown away: 100 MB of it are in memory
    // for a while. The connection ends instead.
    if (hasBody(request)) response.shouldKeepAlive = false;
    whenDue(response, () => answer(request, response));
  };
  const server = pair
    ? createTlsServer({ ...options, ...pair, minVersion: "TLSv1.2", handshakeTimeout: headersMs }, listener)
    : createServer(options, listener);
  server.timeout = stalledMs;
  server.on("clientError", answerNonsense);
  limitConnections(server, bounds.connections);
  return server;
}

/**
 * Requests may come in one piece, before the first is answered; a response has no socket until it is its turn. Worked on together
 * they would pass every limit before one of them counts, and on Deno 2.9 those that wait are not told when the client goes.
 */
function whenDue(response: ServerResponse, answer: () => unknown): void {
  if (response.socket) answer();
  else response.once("socket", answer);
}

interface Connection {
  socket: Socket;
  /** Requests that are not answered yet. */
  requests: number;
}

function limitConnections(server: Server, most: number): void {
  // Both keep their order: the first is the one that has been so for longest.
  const waiting = new Set<Connection>();
  const busy = new Set<Connection>();
  const bySocket = new WeakMap<object, Connection>();
  const byAddress = new Map<string, Connection>();
  // Above TLS the socket of a request is another object than the one that was accepted; the addresses are the same.
  const find = (socket: Socket) => bySocket.get(socket) ?? byAddress.get(addressOf(socket));

  const makeRoom = () => {
    if (waiting.size + busy.size < most) return;
    const oldest = first(waiting, busy);
    if (!oldest) return;
    // Its end is told later; the next connection that needs room must not find it again.
    waiting.delete(oldest) || busy.delete(oldest);
    oldest.socket.destroy();
  };

  server.on("connection", (socket: Socket) => {
    makeRoom();
    const connection = { socket, requests: 0 };
    const address = addressOf(socket);
    bySocket.set(socket, connection);
    byAddress.set(address, connection);
    waiting.add(connection);
    socket.once("close", () => {
      waiting.delete(connection) || busy.delete(connection);
      if (byAddress.get(address) === connection) byAddress.delete(address);
    });
  });
  server.on("request", ({ socket }: { socket: Socket }, response: ServerResponse) => {
    const connection = find(socket);
    if (!connection) return;
    connection.requests++;
    if (waiting.delete(connection)) busy.add(connection);
    response.once("close", () => {
      if (--connection.requests > 0 || !busy.delete(connection)) return;
      waiting.add(connection);
    });
  });
  server.on("timeout", (socket: Socket) => {
    // A log that is quiet is followed for as long as one likes.
    const isQuiet = socket.writableLength === 0 && (find(socket)?.requests ?? 0) > 0;
    if (!isQuiet) socket.destroy();
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function first(...sets: Set<Connection>[]): Connection | undefined {
  return sets.find(({ size }) => size > 0)?.values().next().value;
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

const codes: Record<string, RefusalCode> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

function answerNonsense(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0) return void socket.destroy();
  const code = codes[error.code ?? ""] ?? 400;
  const body = JSON.stringify(
    refusalStatus(new Refusal(code, `not a request that HTTP knows: ${error.message}`)),
  );
  const head = [
    `HTTP/1.1 ${code} ${reasons[code]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
