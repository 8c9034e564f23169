/** What one probe found. A failed probe is a value; an exception means that the node could not perform the probe. */
import { errorCode } from "../../lib/files.ts";

export interface ProbeResult {
  ok: boolean;
  message: string;
}

/** What a probe connects with: a socket, or a request. */
interface Connection {
  on(event: "error", listener: (error: Error) => void): unknown;
  destroy(): unknown;
}

/**
 * Opens one connection and waits until the probe calls `finish`, `timeoutMs` at most; then the connection is closed. `what` begins
 * the message of a failure. Throws only if the node could not try.
 */
export function probeConnection(
  what: string,
  timeoutMs: number,
  open: (finish: (ok: boolean, message: string) => void) => Connection,
): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    let connection: Connection | undefined;
    const finish = (ok: boolean, message: string) => {
      clearTimeout(timer);
      resolve({ ok, message });
      connection?.destroy();
    };
    const fail = (cause: Error) => {
      const message = `${what}: ${cause.message}`;
      if (isNodeShortage(cause)) reject(new Error(message, { cause }));
      // Settles nothing after a rejection, but releases timer and connection.
      finish(false, message);
    };
    const timer = setTimeout(() => finish(false, `${what}: no answer in ${timeoutMs / 1000} s`), timeoutMs);
    try {
      connection = open(finish);
      connection.on("error", fail);
    } catch (error) {
      // Such as a port above 65535.
      fail(error as Error);
    }
  });
}

const shortages = new Set(["EAGAIN", "EAI_MEMORY", "EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]);

/** Reports whether the node lacked descriptors, memory or the like: that says nothing about the app. */
function isNodeShortage(error: unknown): boolean {
  return shortages.has(errorCode(error));
}
