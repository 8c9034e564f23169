/**
 * Finds loopback ports for servers that cannot choose one themselves.
 *
 * Caveat: between the check and the server's own bind another process may take the port. Ports are random and below
 * the range that the kernel uses for outgoing connections, so this is rare; callers retry.
 */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Returns a free TCP port on 127.0.0.1. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(20_000, 32_768);
    if (await canListen(port)) return port;
  }
  throw new Error("no free port on 127.0.0.1 between 20000 and 32767 in 100 attempts");
}

function canListen(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
