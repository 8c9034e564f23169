/**
 * Loopback ports for servers that cannot pick one themselves.
 *
 * Caveat: between the look and the server's own bind another process may take the port. Ports come at random
 * from below the range that the kernel gives to outgoing connections, so this is rare; callers try again.
 */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** A TCP port on 127.0.0.1 that nobody listens on. */
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
