/** Opens a connection to an app and closes it: that it opens is success. */
import { connect } from "node:net";
import type { ProbeResult } from "./result.ts";

/** One try, over by `timeoutMs` at the latest. */
export function probeTcp(
  { host, port }: { host: string; port: number },
  timeoutMs: number,
): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const finish = (ok: boolean, message: string) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ ok, message });
    };
    const timer = setTimeout(
      () => finish(false, `dial tcp ${host}:${port}: no answer in ${timeoutMs / 1000} s`),
      timeoutMs,
    );
    socket.on("connect", () => finish(true, "connected"));
    socket.on("error", (error) => finish(false, `dial tcp ${host}:${port}: ${error.message}`));
  });
}
