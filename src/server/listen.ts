/**
 * Opens the server's doors: a TCP port on loopback, and a unix socket that only the agent's user may use.
 */
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { type AddressInfo, BlockList, connect } from "node:net";
import { dirname } from "node:path";
import { ensureFolder, errorCode } from "../lib/files.ts";

export interface Listener {
  /** Where it answers: `http://127.0.0.1:10268` or a socket's path. */
  address: string;
  close(): Promise<void>;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Listens on `host:port`; anything but loopback is refused, since nothing here asks who is calling. */
export async function listenOnPort(app: Hono, address: string): Promise<Listener> {
  const { host, port } = parseAddress(address);
  if (!isLoopback(host)) {
    throw new Error(`--listen ${address}: only loopback addresses are served without TLS and a token check`);
  }
  const server = createBoundedServer(app);
  await listening(server, () => server.listen(port, host), `--listen ${address}`);
  const actual = server.address() as AddressInfo;
  return {
    address: `http://${host.includes(":") ? `[${host}]` : host}:${actual.port}`,
    close: () => closeServer(server),
  };
}

/** Listens on a unix socket of mode 0600. A socket that nobody serves any more is replaced; a living agent's is not. */
export async function listenOnSocket(app: Hono, path: string): Promise<Listener> {
  await ensureFolder(dirname(path), { mode: 0o755 });
  if (await answers(path)) throw new Error(`--socket ${path}: another agent is serving it`);
  await rm(path, { force: true });
  const server = createBoundedServer(app);
  await listening(server, () => server.listen(path), `--socket ${path}`);
  await chmod(path, 0o600);
  return { address: path, close: () => closeServer(server) };
}

/** Whether a Host header names this machine by a name that only points at itself, whatever DNS says. */
export function isLoopbackHost(header: string): boolean {
  const host = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::\d{1,5})?$/.exec(header);
  return host !== null && isLoopback(host[1] ?? host[2] ?? "");
}

/** True for the addresses and the one name that never leave the machine. */
export function isLoopback(host: string): boolean {
  return host.toLowerCase() === "localhost" || loopback.check(host, host.includes(":") ? "ipv6" : "ipv4");
}

/** Takes `host:port` and `[v6]:port` apart. */
export function parseAddress(address: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (!match || port > 65535) {
    throw new Error(`${JSON.stringify(address)} is not an address such as 127.0.0.1:10268`);
  }
  return { host: match[1] ?? match[2] ?? "", port };
}

function createBoundedServer(app: Hono): Server {
  const server = createServer(
    { requestTimeout: 30_000, headersTimeout: 10_000 },
    getRequestListener(app.fetch),
  );
  server.maxConnections = 256;
  return server;
}

async function listening(server: Server, listen: () => void, what: string): Promise<void> {
  listen();
  await once(server, "listening").catch((cause) => {
    throw new Error(`${what}: ${errorCode(cause)}`, { cause });
  });
}

async function answers(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
