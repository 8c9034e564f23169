/** A port-forward over a real connection, for tests. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type PortForwardOptions, servePortForward } from "../../../src/server/kubelet/port-forward.ts";
import { waitFor } from "../../wait-for.ts";
import { SpdyClient } from "../spdy/client.ts";

export async function listen(onConnection: (socket: Socket) => void) {
  const server = createServer({ noDelay: true }, onConnection).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => void server.close() };
}

/** Serves a connection of its own, whose reservations are counted. */
export async function forwarding({ most = 1000, ...options }: PortForwardOptions & { most?: number } = {}) {
  const memory = { held: 0 };
  const reserve = () => {
    if (memory.held >= most) return undefined;
    memory.held++;
    return () => void memory.held--;
  };
  const accepted = Promise.withResolvers<Socket>();
  const listener = await listen(accepted.resolve);
  const client = new SpdyClient(connect({ port: listener.port, host: "127.0.0.1", noDelay: true }));
  const served = servePortForward(await accepted.promise, { reserve, ...options });
  let pings = 1;
  return {
    client,
    memory,
    open: (port: number, requestID: number, streamType: "data" | "error") =>
      client.open({ port: String(port), requestID: String(requestID), streamType }),
    /** Resolves when the other side has handled everything before it. */
    async settled() {
      const id = pings += 2;
      client.send({ type: "ping", id });
      await waitFor("it is answered", () => client.pings.includes(id));
    },
    async [Symbol.asyncDispose]() {
      client.socket.destroy();
      await served;
      listener[Symbol.dispose]();
    },
  };
}
