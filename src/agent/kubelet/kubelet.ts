/**
 * Where this agent serves the kubelet API: only while the Node is its own, since a Node names one port for `kubectl logs`, and on
 * others it is the kubelet's. The code of the API (open-kubelet.ts) is loaded when it is first served.
 */
import type { Logger } from "../../lib/log.ts";
import type { openKubelet } from "./open-kubelet.ts";

/** For the Node object, which names the port. */
export interface KubeletEndpoint {
  /** The port on which the kubelet API is served now. */
  port(): number | undefined;
  /** Calls back when the port has changed. */
  onChange(listener: () => void): void;
}

export interface EndpointKeeper extends KubeletEndpoint {
  /** Opens or closes the listener, as `isWanted` says. */
  update(): void;
  close(): Promise<void>;
}

/** Opens the listener; see open-kubelet.ts. */
export async function openKubeletListener(
  ...[options, parts, onPort]: Parameters<typeof openKubelet>
): ReturnType<typeof openKubelet> {
  const { openKubelet } = await import("./open-kubelet.ts");
  return await openKubelet(options, parts, onPort);
}

export interface EndpointOptions {
  isWanted: () => boolean;
  /** Opens the listener as soon as it can; `onPort` gets the port. */
  open: (onPort: (port: number) => void) => Promise<{ close(): Promise<void> }>;
  log: Logger;
}

export function createKubeletEndpoint({ isWanted, open, log }: EndpointOptions): EndpointKeeper {
  const listeners: (() => void)[] = [];
  let port: number | undefined;
  let opened: { close(): Promise<void> } | undefined;
  let isClosed = false;
  let told = "";
  let working: Promise<void> | undefined;

  const setPort = (next: number | undefined) => {
    if (next === port) return;
    port = next;
    for (const listener of listeners) listener();
  };
  const work = async () => {
    try {
      const wanted = !isClosed && isWanted();
      if (wanted && !opened) opened = await open(setPort);
      if (!wanted && opened) {
        const before = opened;
        opened = undefined;
        setPort(undefined);
        await before.close();
      }
      told = "";
    } catch (error) {
      const { message } = error as Error;
      if (message !== told) log.error("cannot serve the kubelet API; trying again", { error });
      told = message;
    }
  };
  const update = () => working ??= work().finally(() => working = undefined);
  return {
    port: () => port,
    onChange: (listener) => void listeners.push(listener),
    update: () => void update(),
    async close() {
      isClosed = true;
      await working;
      await update();
    },
  };
}
