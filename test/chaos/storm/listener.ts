/**
 * A listener between one client and the gateway, at the level of TCP: it can be shut, and it can fall silent.
 *
 * Silence is a network that swallows packets: connections stay open on both sides and nothing arrives. When it ends, what was
 * swallowed either arrives late (`resume`), or the connections turn out to be dead (`reset`).
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Listener extends AsyncDisposable {
  port: number;
  /** Cuts all connections once; new ones work. */
  cut(): void;
  /** Cuts all connections and takes no new one, until it is opened. */
  shut(): void;
  /** From now on nothing gets through, and nobody is told. */
  silence(): void;
  /** Lets connections through again; those that were silenced go on or are reset. */
  open(silenced?: "resume" | "reset"): void;
}

/** Opens a listener to a port on loopback. */
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
