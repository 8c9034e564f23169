/**
 * A port with TLS, for the agent's endpoint and the kubelet API.
 *
 * Guarantees: a client certificate counts only if the current authority signed it for clients. Without an authority none counts, not
 * even one of the authorities that Node trusts. A new certificate or authority applies to new connections: those that idle are closed,
 * others after their request, and with a new authority no client certificate counts on them. One that cannot be used, such as a half-written file, leaves the
 * old one in use.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import { describeError, type Logger } from "../../lib/log.ts";
import type { Pulse } from "../../lib/pulse.ts";
import {
  type Bounds,
  createBoundedServer,
  defaultBounds,
  type KeyPair,
  type ServerTls,
  type WebApp,
} from "./bounded-server.ts";
import type { OpenListener } from "./open-with-retry.ts";
import { listenAt } from "./listening.ts";

export interface TLSListenerOptions {
  /** The flag that named the address. */
  flag: "--listen" | "--kubelet-listen";
  readPair(): Promise<KeyPair>;
  /** The authority of client certificates; without this function none are asked for. */
  readAuthority?(): Promise<string | undefined>;
  /** Hears which certificate and authority are in use. */
  onUse?(tls: { cert: string; ca?: string | string[] }): void;
  /** See createBoundedServer. */
  upgrades?: boolean;
  log: Logger;
  bounds?: Partial<Bounds>;
  rereadMs?: number;
  /** Beats when certificate and authority are to be read again at once. */
  reloads?: Pulse;
}

/** Listens on `host:port`, or `:port` for every address. */
export async function listenWithTLS(
  app: WebApp,
  address: string,
  { flag, readPair, readAuthority, onUse, upgrades, log, bounds, rereadMs = 10_000, reloads }:
    TLSListenerOptions,
): Promise<OpenListener & { port: number }> {
  // An empty list of authorities, and not the default one, if there is none.
  const read = async (): Promise<ServerTls> => ({ ...await readPair(), ca: await readAuthority?.() ?? [] });
  let current = await read();
  const tls = { ...current, requestCert: readAuthority !== undefined };
  const limits = { ...defaultBounds, reserved: 64, perPeer: 128, ...bounds };
  const server = createBoundedServer(app, limits, { tls, upgrades });
  const connections = trackConnections(server);
  const listener = await listenAt(server, flag, address, "https");
  onUse?.(current);
  const reread = async () => {
    try {
      const next = await read();
      if (JSON.stringify(next) === JSON.stringify(current)) return;
      const keepsUsers = JSON.stringify(next.ca) === JSON.stringify(current.ca);
      current = next;
      onUse?.(next);
      (server as Server & { setSecureContext(tls: ServerTls): void }).setSecureContext(next);
      connections.retire({ keepsUsers });
      server.closeIdleConnections();
      log.info("using a new certificate or client authority", { address });
    } catch (error) {
      log.warn("keeping the old certificate and client authority", { address, why: describeError(error) });
    }
  };
  const timer = setInterval(reread, rereadMs);
  timer.unref();
  const rereadNow = (): (() => void) | undefined =>
    reloads?.onNext(() => {
      cancel = rereadNow();
      void reread();
    });
  let cancel = rereadNow();
  return {
    ...listener,
    async close() {
      clearInterval(timer);
      cancel?.();
      await listener.close();
    },
  };
}

/** What TLS found out about a client holds for the whole connection, however long a client keeps it. `retire` ends that. */
function trackConnections(server: Server): { retire(options: { keepsUsers: boolean }): void } {
  const open = new Set<TLSSocket>();
  server.on("secureConnection", (socket: TLSSocket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    response.once("close", () => socket.destroyed || open.has(socket as TLSSocket) || socket.destroySoon());
  });
  return {
    retire({ keepsUsers }) {
      // Long streams ask for the rights of their user again; the same authority has signed its certificate.
      if (!keepsUsers) { for (const socket of open) socket.authorized = false; }
      open.clear();
    },
  };
}
