/** Opens and closes servers; what the kernel refuses is a PortError. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { errorCode } from "../../lib/files.ts";
import { parseAddress } from "../../lib/special-addresses.ts";
import { type OpenListener, PortError } from "./open-with-retry.ts";

/** Listens on `host:port`, or `:port` for every address; `flag` is where the address comes from. */
export async function listenAt(
  server: Server,
  flag: string,
  address: string,
  scheme: "http" | "https",
): Promise<OpenListener & { port: number }> {
  const { host, port } = parseAddress(address.startsWith(":") ? `[::]${address}` : address);
  // Without a host Node listens on all addresses of both families, or of the only one the machine has.
  const listen = () => server.listen(port, host === "::" ? undefined : host);
  await listening(server, listen, `${flag} ${address}`);
  const { port: opened } = server.address() as AddressInfo;
  return {
    address: `${scheme}://${host.includes(":") ? `[${host}]` : host}:${opened}`,
    port: opened,
    close: () => closeServer(server),
  };
}

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

/** Closes a server with all its connections. */
export async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
