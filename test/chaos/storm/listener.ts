/**
 * A TCP listener that forwards one client to the gateway, and can refuse or silence its connections.
 *
 * Silence is a network that drops packets: connections stay open on both sides and nothing arrives. When it ends, the withheld
 * bytes either arrive late (`resume`), or the connections are reset (`reset`).
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Listener extends AsyncDisposable {
  port: number;
  /** Cuts all connections once; new ones work. */
  cut(): void;
  /** Cuts all connections and refuses new ones until `open`. */
  shut(): void;
  /** Stops forwarding, without closing connections. */
  silence(): void;
  /** Forwards again; silenced connections resume or are reset. */
  open(silenced?: "resume" | "reset"): void;
}

/** Opens a listener that forwards to a port on loopback. */
export async function openListener(targetPort: number): Promise<Listener> {
  const pairs = new Set<[Socket, Socket | undefined]>();
  let state: "open" | "shut" | "silent" = "open";

  const join = (pair: [Socket, Socket | undefined]) => {
    const [client] = pair;
    const target = connect(targetPort, "127.0.0.1");
    pair[1] = target;
    target.on("error", () => {}).on("close", () => client.destroy());
    client.pipe(target).pipe(client);
  };
  const cut = () => {
    for (const pair of pairs) for (const socket of pair) socket?.destroy();
  };
  const hold = ([client, target]: [Socket, Socket | undefined]) => {
    client.unpipe().pause();
    target?.unpipe().pause();
  };
  const server = createServer((client) => {
    const pair: [Socket, Socket | undefined] = [client, undefined];
    pairs.add(pair);
    client.on("error", () => {}).on("close", () => {
      pairs.delete(pair);
      pair[1]?.destroy();
    });
    if (state === "shut") client.destroy();
    else if (state === "silent") client.pause();
    else join(pair);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    port: (server.address() as AddressInfo).port,
    cut,
    shut() {
      state = "shut";
      cut();
    },
    silence() {
      state = "silent";
      for (const pair of pairs) hold(pair);
    },
    open(silenced = "reset") {
      const wasSilent = state === "silent";
      state = "open";
      if (!wasSilent) return;
      if (silenced === "reset") return cut();
      for (const pair of pairs) {
        if (pair[1]) pair[0].pipe(pair[1]).pipe(pair[0]);
        else join(pair);
      }
    },
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
