/**
 * Opens the doors of the agent's HTTP endpoint: the unix socket, and the port.
 */
import { createServerApp } from "../server/app.ts";
import { isLoopbackHost, type Listener, listenOnPort, listenOnSocket } from "../server/listen.ts";
import type { Services } from "../server/services.ts";
import type { AgentOptions } from "./options.ts";

const mostFollowers = 64;

/** Opens what the options ask for and returns the addresses; `opened` closes them. */
export async function openDoors(
  { listen, socket }: AgentOptions,
  parts: Omit<Services, "followers">,
  opened: AsyncDisposableStack,
): Promise<string[]> {
  const services: Services = { ...parts, followers: { now: 0, most: mostFollowers } };
  const open = async (listening: Promise<Listener>) => {
    const listener = await listening;
    opened.defer(() => listener.close());
    return listener.address;
  };
  const onSocket = createServerApp({ kind: "socket" }, services);
  const onPort = createServerApp({ kind: "loopback", isOwnHost: isLoopbackHost }, services);
  return [
    ...(socket ? [await open(listenOnSocket(onSocket, socket))] : []),
    ...(listen ? [await open(listenOnPort(onPort, listen))] : []),
  ];
}
