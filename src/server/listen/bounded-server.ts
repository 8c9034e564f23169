/**
 * An HTTP server that slow or idle clients cannot take down.
 *
 * Guarantees: connections are limited in number (connections.ts). The TLS handshake, the head of a request and the whole request have
 * deadlines, and a response that the client does not read is dropped. Requests of one connection are handled one after the other.
 * Malformed requests get a Kubernetes `Status`, like every other error. A request that asks for another protocol is answered by the
 * same app, whose handler may take the connection over.
 */
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions as HttpsOptions } from "node:https";
import type { Socket } from "node:net";
import type { ConnectionEnv } from "../access.ts";
import { type ConnectionBounds, limitConnections } from "./connections.ts";
import { malformed, reasons, Refusal, type RefusalCode, refusalStatus } from "../refusal.ts";

export interface Bounds extends ConnectionBounds {
  /** Deadline for the TLS handshake, and for the head of a request. */
  headersMs: number;
  /** Deadline for a request with its body. */
  requestMs: number;
  /** How long a client may stop reading its response. */
  stalledMs: number;
}

export const defaultBounds: Bounds = {
  connections: 256,
  reserved: 0,
  perPeer: Infinity,
  headersMs: 10_000,
  requestMs: 30_000,
  stalledMs: 30_000,
};

/** A certificate and its key, as PEM. */
export interface KeyPair {
  cert: string;
  key: string;
}

/** TLS of a server: its pair, and the authorities of client certificates, if it asks for those. */
export interface ServerTls extends KeyPair {
  ca?: string | string[];
  requestCert?: boolean;
}

/** A Hono app, whatever it expects of its environment. */
export type WebApp = { fetch: Parameters<typeof getRequestListener>[0] };

/** Answers 101 with these headers and hands the connection over; undefined if the client has left. */
export type TakeOver = (headers: Record<string, string>) => Socket | undefined;

/**
 * Returns a server for this app; with a key pair it speaks TLS only. With `upgrades` the app's environment has a `takeOver` for
 * requests that ask for another protocol; without, an `Upgrade` header is ignored.
 */
export function createBoundedServer(
  app: WebApp,
  bounds: Bounds,
  { tls, upgrades = false }: { tls?: ServerTls; upgrades?: boolean } = {},
): Server {
  const { headersMs, requestMs, stalledMs } = bounds;
  const options = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(2000, headersMs),
  };
  const answer = getRequestListener(
    (asked, env) => app.fetch(asked, Object.assign(env, about((env as HttpBindings).incoming.socket))),
    { errorHandler: malformed },
  );
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    // Else the rest of an unread body would be read and discarded, with 100 MB of it in memory for a while.
    if (hasBody(request)) response.shouldKeepAlive = false;
    whenItsTurn(response, () => answer(request, response));
  };
  // Certificates that are not valid do not end the connection: the client may have a token.
  const tlsOptions = {
    ...tls,
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
    handshakeTimeout: headersMs,
  };
  const server = tls
    ? createTlsServer({ ...options, ...tlsOptions } as HttpsOptions, listener)
    : createServer(options, listener);
  server.timeout = stalledMs;
  // First: what is written before the end of a handshake would wait for it, and the connection with it.
  server.prependListener("tlsClientError", (_: Error, socket: Socket) => socket.destroy());
  server.on("clientError", answerMalformed);
  const about = limitConnections(server, bounds, { upgrades, handshakeMs: tls && headersMs });
  if (upgrades) {
    server.on(
      "upgrade",
      (request, socket: Socket, head) => answerUpgrade(app, request, socket, head, about(socket)),
    );
  }
  return server;
}

const keepAliveMs = 30_000;

/** Node lets go of a connection whose request asks for another protocol: here it gets its answer nevertheless. */
function answerUpgrade(
  app: WebApp,
  request: IncomingMessage,
  socket: Socket,
  head: Uint8Array,
  about: ConnectionEnv,
): void {
  // A client may leave while the API server is asked; without a listener its error would end the agent.
  socket.on("error", () => {});
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  try {
    response.assignSocket(socket);
  } catch {
    // An earlier request of the connection is not answered yet.
    return void socket.destroy();
  }
  response.once("finish", () => response.socket?.destroySoon());
  if (head.length > 0) socket.unshift(Buffer.from(head));
  const takeOver: TakeOver = (headers) => {
    if (socket.destroyed) return undefined;
    response.detachSocket(socket);
    socket.setTimeout(0);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveMs);
    const lines = Object.entries({ "Connection": "Upgrade", ...headers }).map((pair) => pair.join(": "));
    // By hand: on Deno 2.9 a response without a body has one, of no chunks.
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
    return socket;
  };
  const fetch: WebApp["fetch"] = (asked, env) => app.fetch(asked, Object.assign(env, about, { takeOver }));
  void getRequestListener(fetch, { errorHandler: malformed })(request, response);
}

/**
 * Pipelined requests arrive before the first is answered; a response has no socket until its turn. Handled at the same time they would
 * pass every limit before one of them counts, and on Deno 2.9 those that wait do not learn that the client is gone.
 */
function whenItsTurn(response: ServerResponse, answer: () => unknown): void {
  if (response.socket) answer();
  else response.once("socket", answer);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

const codes: Record<string, RefusalCode> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

function answerMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0) return void socket.destroy();
  const code = codes[error.code ?? ""] ?? 400;
  const body = JSON.stringify(
    refusalStatus(new Refusal(code, `malformed HTTP request: ${error.message}`)),
  );
  const head = [
    `HTTP/1.1 ${code} ${reasons[code]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  // Not `end`: a client that keeps its half open would keep the connection.
  socket.destroySoon();
}
