/** Opens a connection to an app and closes it: that it opens is success. */
import { connect, type Socket } from "node:net";
import { authority, bareHost } from "./host.ts";
import { isOwnTrouble } from "./own-trouble.ts";
import type { ProbeResult } from "./result.ts";

/** One try, over by `timeoutMs` at the latest. Throws only where the node is too short of something to try. */
export function probeTcp(
  { host, port }: { host: string; port: number },
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
      if (isOwnTrouble(cause)) reject(new Error(message, { cause }));
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
      // Such as a port that there is not.
      fail(error as Error);
    }
  });
}
