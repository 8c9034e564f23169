import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A listener in front of a server on loopback. */
export interface Forwarder {
  port: number;
  /** Cuts every connection and refuses new ones. */
  close(): void;
  /** Forwards connections again. */
  open(): void;
}

/** Runs `use` with a port that forwards to `targetPort` while it is open, which it is at first. */
export async function withForwarder<T>(
  targetPort: number,
  use: (forwarder: Forwarder) => Promise<T>,
): Promise<T> {
  const sockets = new Set<Socket>();
  let isOpen = true;
  const cut = () => sockets.forEach((socket) => socket.destroy());
  const server = createServer((socket) => {
    if (!isOpen) return socket.destroy();
    const target = connect(targetPort, "127.0.0.1");
    for (const [one, other] of [[socket, target], [target, socket]] as const) {
      sockets.add(one);
      one.on("error", () => {}).on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    socket.pipe(target).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use({
      port: (server.address() as AddressInfo).port,
      close: () => (isOpen = false, cut()),
      open: () => void (isOpen = true),
    });
  } finally {
    cut();
    await new Promise((resolve) => server.close(resolve));
  }
}
