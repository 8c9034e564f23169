/** Opens and closes servers; what the kernel refuses is a PortError. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { errorCode } from "../../lib/files.ts";
import { PortError } from "./keep-open.ts";

/** Resolves when the server listens; `what` names the flag and the address. */
export async function listening(server: Server, listen: () => void, what: string): Promise<void> {
  const started = once(server, "listening");
  listen();
  await started.catch((cause) => {
    const code = errorCode(cause);
    throw new PortError(`${what}: ${code}${meanings[code] ?? ""}`, { cause });
  });
}

const meanings: Record<string, string> = {
  EADDRINUSE: ": another process uses the port",
  EADDRNOTAVAIL: ": this machine does not have the address",
  EACCES: ": this user may not use the port",
};

/** The URL of a server. */
export function describeAddress(server: Server, host: string, scheme: "http" | "https"): string {
  const { port } = server.address() as AddressInfo;
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Closes a server with all its connections. */
export async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
