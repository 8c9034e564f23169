/**
 * The listener of the kubelet API: TLS, client certificates, and connections that become streams.
 *
 * Guarantees: a client certificate counts only if the current authority signed it for clients. A new certificate or authority
 * applies to new connections: those that idle are closed, others after their request, and no certificate counts on them. Without an authority no certificate counts: not even one of the authorities
 * that Node trusts. A listener that is closed ends its streams as well: the server knows nothing of them, but waits for them.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { describeError, type Logger } from "../../lib/log.ts";
import { parseAddress } from "../../lib/special-addresses.ts";
import {
  type Bounds,
  createBoundedServer,
  defaultBounds,
  type KeyPair,
  type WebApp,
} from "./bounded-server.ts";
import type { OpenListener } from "./keep-open.ts";
import { closeServer, describeAddress, listening } from "./listening.ts";

export interface KubeletListenerOptions {
  readPair(): Promise<KeyPair>;
  readAuthority(): Promise<string | undefined>;
  /** Takes over the connections that become streams, and ends them. */
  upgrades: {
    onUpgrade(request: IncomingMessage, socket: Socket, head: Uint8Array): void;
    close(): Promise<void>;
  };
  log: Logger;
  bounds?: Bounds;
  rereadMs?: number;
}

/** As many connections as all places need. A pager that shows a followed log may stop reading it for a while. */
const kubeletBounds: Bounds = { ...defaultBounds, connections: 512, stalledMs: 600_000 };

/** What the server's TLS is made of. An empty list of authorities, and not the default one, if there is none. */
interface Identity extends KeyPair {
  ca: string | string[];
}

/** Listens on `host:port`, or `:port` for every address. */
export async function listenForKubelet(
  app: WebApp,
  address: string,
  { readPair, readAuthority, upgrades, log, bounds = kubeletBounds, rereadMs = 30_000 }:
    KubeletListenerOptions,
): Promise<OpenListener & { port: number }> {
  const read = async (): Promise<Identity> => ({ ...await readPair(), ca: await readAuthority() ?? [] });
  let current = await read();
  const server = createBoundedServer(app, bounds, { ...current, requestCert: true }, upgrades.onUpgrade);
  const connections = trackConnections(server);
  const { host, port } = parseAddress(address.startsWith(":") ? `[::]${address}` : address);
  // Without a host Node listens on all addresses of both families, or of the only one the machine has.
  await listening(
    server,
    () => server.listen(port, host === "::" ? undefined : host),
    `--kubelet-listen ${address}`,
  );
  const timer = setInterval(async () => {
    try {
      const next = await read();
      if (JSON.stringify(next) === JSON.stringify(current)) return;
      current = next;
      (server as Server & { setSecureContext(identity: Identity): void }).setSecureContext(next);
      connections.retire();
      server.closeIdleConnections();
      log.info("the kubelet API uses a new certificate or client authority");
    } catch (error) {
      log.warn("keeping the certificate and the client authority of the kubelet API", {
        why: describeError(error),
      });
    }
  }, rereadMs);
  timer.unref();
  return {
    address: describeAddress(server, host, "https"),
    port: (server.address() as AddressInfo).port,
    async close() {
      clearInterval(timer);
      await Promise.all([closeServer(server), upgrades.close()]);
    },
  };
}

/** What TLS found out about a client holds for the whole connection, however long a client keeps it. `retire` ends that. */
function trackConnections(server: Server): { retire(): void } {
  const open = new Set<TLSSocket>();
  server.on("secureConnection", (socket: TLSSocket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    response.once("close", () => open.has(socket as TLSSocket) || socket.destroySoon());
  });
  return {
    retire() {
      for (const socket of open) socket.authorized = false;
      open.clear();
    },
  };
}
