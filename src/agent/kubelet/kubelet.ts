/**
 * Where this agent serves the kubelet API: only while the Node is its own, since a Node names one port for `kubectl logs`, and on
 * others it is the kubelet's. The code of the API (open-kubelet.ts) is loaded when it is first served; own-certificate.ts has what it
 * serves with.
 */
import type { Logger } from "../../lib/log.ts";
import type { openKubelet } from "./open-kubelet.ts";

export { createOwnCertificate } from "./own-certificate.ts";

export interface KubeletEndpoint {
  /** The port on which the kubelet API is served now, for the Node object. */
  port(): number | undefined;
  /** Calls back when the port has changed. */
  onChange(listener: () => void): void;
  /** What is known about the Node; `registered`: it belongs to this agent. */
  nodeSeen(node: { registered: boolean }): void;
  /** Serves from now on, while it may. `open` opens the listener as soon as it can; `onPort` gets the port. */
  start(open: (onPort: (port: number) => void) => Promise<{ close(): Promise<void> }>): void;
  /** Opens or closes the listener, if that has become due. */
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

/** `isActing` reports whether this agent acts for its node. */
export function createKubeletEndpoint(
  { isActing, log }: { isActing: () => boolean | undefined; log: Logger },
): KubeletEndpoint {
  const listeners: (() => void)[] = [];
  let open: Parameters<KubeletEndpoint["start"]>[0] | undefined;
  let isOwnNode = false;
  let port: number | undefined;
  let opened: { close(): Promise<void> } | undefined;
  let isClosed = false;
  let logged = "";
  let working: Promise<void> | undefined;

  const setPort = (next: number | undefined) => {
    if (next === port) return;
    port = next;
    for (const listener of listeners) listener();
  };
  const work = async () => {
    try {
      const isWanted = !isClosed && isOwnNode && isActing();
      if (isWanted && !opened) opened = await open?.(setPort);
      if (!isWanted && opened) {
        const before = opened;
        opened = undefined;
        setPort(undefined);
        await before.close();
      }
      logged = "";
    } catch (error) {
      const { message } = error as Error;
      if (message !== logged) log.error("cannot serve the kubelet API; trying again", { error });
      logged = message;
    }
  };
  const update = () => working ??= work().finally(() => working = undefined);
  return {
    port: () => port,
    onChange: (listener) => void listeners.push(listener),
    nodeSeen({ registered }) {
      isOwnNode = registered;
      void update();
    },
    start(given) {
      open = given;
      void update();
    },
    update: () => void update(),
    async close() {
      isClosed = true;
      await working;
      await update();
    },
  };
}
