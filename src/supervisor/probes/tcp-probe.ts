/** Opens a TCP connection and closes it. An open connection is success. */
import { connect, type Socket } from "node:net";
import { isNodeShortage, type ProbeResult } from "./probe-result.ts";
import { authority, bareHost, type ProbeTarget } from "./probe-target.ts";

/** Connects once and waits `timeoutMs` at most. Throws only if the node could not try. */
export function probeTcp(
  { host, port }: ProbeTarget,
  timeoutMs: number,
): Promise<ProbeResult> {
  const address = authority(host, port);
  return new Promise((resolve, reject) => {
    let socket: Socket | undefined;
    const finish = (ok: boolean, message: string) => {
      clearTimeout(timer);
      socket?.destroy();
      resolve({ ok, message });
    };
    const fail = (cause: Error) => {
      const message = `dial tcp ${address}: ${cause.message}`;
      if (isNodeShortage(cause)) reject(new Error(message, { cause }));
      // Settles nothing after a rejection, but releases timer and socket.
      finish(false, message);
    };
    const timer = setTimeout(
      () => finish(false, `dial tcp ${address}: no answer in ${timeoutMs / 1000} s`),
      timeoutMs,
    );
    try {
      socket = connect({ host: bareHost(host), port });
      socket.on("connect", () => finish(true, "connected"));
      socket.on("error", fail);
    } catch (error) {
      // Such as a port above 65535.
      fail(error as Error);
    }
  });
}
