/**
 * Opens the server's listeners: a port on loopback, a unix socket for root and the agent's user only, a port for health checks only,
 * and a port with TLS (tls-listener.ts).
 *
 * Caveat: the file mode alone decides who may connect to the unix socket. Node cannot read the peer's user (SO_PEERCRED), so a process
 * that inherited a connected socket has the same access.
 */
import type { Hono } from "hono";
import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import type { Server } from "node:http";
import { connect } from "node:net";
import { dirname } from "node:path";
import process from "node:process";
import { ensureFolder } from "../../lib/files.ts";
import { isLoopback, parseAddress } from "../../lib/special-addresses.ts";
import { type Bounds, createBoundedServer, defaultBounds } from "./bounded-server.ts";
import type { OpenListener } from "./open-with-retry.ts";
import { closeServer, listenAt, listening } from "./listening.ts";

export {
  type Bounds,
  createBoundedServer,
  defaultBounds,
  type KeyPair,
  type TakeOver,
} from "./bounded-server.ts";
export { closeServer } from "./listening.ts";
export { type OpenListener, openWithRetry, type PortProblems } from "./open-with-retry.ts";
export { type KeyPairFiles, readKeyPair } from "./key-pair.ts";
export { createLocalToken } from "./local-token.ts";
export { listenWithTLS } from "./tls-listener.ts";

/** Listens on `host:port`; throws for an address off loopback, since nothing here authenticates clients. */
export async function listenOnPort(
  app: Hono,
  address: string,
  bounds: Bounds = defaultBounds,
): Promise<OpenListener> {
  if (!isLoopback(parseAddress(address).host)) {
    throw new Error(`--listen ${address}: only loopback addresses are served without TLS and a token check`);
  }
  return await listenAt(createBoundedServer(app, bounds), "--listen", address, "http");
}

/** Listens on `host:port`, or `:port` for every address: for an app that only answers health checks. */
export async function listenForHealth(
  app: Hono,
  address: string,
  bounds: Bounds = defaultBounds,
): Promise<OpenListener> {
  return await listenAt(createBoundedServer(app, bounds), "--health-listen", address, "http");
}

const answerMs = 2000;

/** Listens on a unix socket of mode 0600. A stale socket is replaced; one that a living agent serves is not. */
export async function listenOnSocket(
  app: Hono,
  path: string,
  bounds: Bounds = defaultBounds,
): Promise<OpenListener> {
  await ensureFolder(dirname(path), { mode: 0o755 });
  if (await answers(path)) throw new Error(`--socket ${path}: another agent is serving it`);
  await rm(path, { force: true });
  const server = createBoundedServer(app, bounds);
  await listening(server, () => listenInPrivate(server, path), `--socket ${path}`);
  await chmod(path, 0o600);
  return { address: path, close: () => closeServer(server) };
}

/** Reports whether a Host header is a loopback name or address, without asking DNS. */
export function isLoopbackHost(header: string): boolean {
  const host = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::\d{1,5})?$/.exec(header);
  return host !== null && isLoopback(host[1] ?? host[2] ?? "");
}

/** `listen` creates the file before its mode can be changed, so the umask has to make it private from the start. */
function listenInPrivate(server: Server, path: string): void {
  const before = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(before);
  }
}

/**
 * Reports whether a living agent serves the socket. A connection alone proves nothing: on Deno, apps inherit the listener of an
 * agent, and hold it after the agent has ended.
 */
async function answers(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    socket.write("GET /healthz HTTP/1.0\r\n\r\n");
    await once(socket, "data", { signal: AbortSignal.timeout(answerMs) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
