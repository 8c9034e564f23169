/**
 * A port that is opened as soon as it can be: any local process may take a port while the agent restarts, and an agent that ended
 * for it would lose its Lease.
 */
import { type Backoff, createBackoff } from "../../lib/backoff.ts";
import type { Logger } from "../../lib/log.ts";
import { sleep } from "../../lib/sleep.ts";

export interface OpenListener {
  /** `http://127.0.0.1:10268`, or the path of a socket. */
  address: string;
  close(): Promise<void>;
}

/** The ports that are not open, by their address, with the reason. */
export type PortProblems = Map<string, string>;

/** The kernel refused the address; it may accept it later. */
export class PortError extends Error {
  override name = "PortError";
}

export interface RetryOptions {
  log: Logger;
  problems: PortProblems;
  /** Called with the address once it is served. */
  onOpen(address: string): void;
  backoff?: Backoff;
}

/** Opens a port, or retries until it is closed; the reason is logged once and kept in `problems`. Other errors of the first attempt are thrown. */
export async function openWithRetry(
  address: string,
  open: () => Promise<OpenListener>,
  { log, problems, onOpen, backoff = createBackoff({ initialMs: 100, maxMs: 10_000 }) }: RetryOptions,
): Promise<{ close(): Promise<void> }> {
  let listener: OpenListener | undefined;
  const attempt = async () => {
    listener = await open();
    problems.delete(address);
    onOpen(listener.address);
  };
  const fail = (error: unknown) => {
    const why = (error as Error).message;
    if (problems.get(address) !== why) log.error("cannot serve on an address; retrying", { address, why });
    problems.set(address, why);
  };
  await attempt().catch((error) => {
    if (!(error instanceof PortError)) throw error;
    fail(error);
  });
  const stop = new AbortController();
  const retrying = (async () => {
    while (!listener) {
      await sleep(backoff.next(), stop.signal);
      if (stop.signal.aborted) return;
      await attempt().catch(fail);
    }
  })();
  return {
    async close() {
      stop.abort();
      await retrying;
      await listener?.close();
    },
  };
}
