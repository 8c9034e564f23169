import { describeError, type Logger } from "./log.ts";

/** The longest wait that a timer supports; a longer one would fire at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** Waits `ms`, at most 24 days, or until `signal` aborts. Never rejects: a loop checks its signal after it sleeps. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, Math.min(Math.max(ms, 0), longestTimerMs));
    signal?.addEventListener("abort", finish, { once: true });
  });
}

/** Waits until the work is done, but at most `ms`; returns whether it is. The work goes on. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<boolean> {
  const done = new AbortController();
  try {
    return await Promise.race([work.then(() => true), sleep(ms, done.signal).then(() => false)]);
  } finally {
    done.abort();
  }
}

/** Settles as `work` does, or rejects with the signal's reason on an abort. Others may wait for the same work, so it goes on. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
    // After an abort these rejections have no other handler.
    work.catch(() => {});
    aborted.promise.catch(() => {});
  }
}

/** Calls `tick` every `ms` until the signal aborts, one call at a time. An error is logged and does not end the loop. */
export async function repeat(
  ms: number | (() => number),
  signal: AbortSignal,
  tick: () => Promise<void>,
  log: Logger,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(typeof ms === "number" ? ms : ms(), signal);
    if (signal.aborted) return;
    try {
      await tick();
    } catch (error) {
      log.error("periodic work failed", { why: describeError(error) });
    }
  }
}
