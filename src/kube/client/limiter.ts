/** How urgent a request is: `high` for changes of phase and Leases, `low` for usage. */
export type Priority = "high" | "normal" | "low";

export interface Limiter {
  /** Runs `work` when it is its turn. Rejects with the signal's reason if that aborts while waiting. */
  run<T>(priority: Priority, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/**
 * Bounds the requests in flight. More urgent requests go first, in order of arrival within one priority. `low` never takes the
 * last `reserved` of them, so that an urgent request does not wait for many slow reports.
 */
export function createLimiter(
  { maxInFlight = 8, reserved = 3 }: { maxInFlight?: number; reserved?: number },
): Limiter {
  const waiting: Record<Priority, (() => void)[]> = { high: [], normal: [], low: [] };
  let busy = 0;

  const mayStart = (priority: Priority) => busy < (priority === "low" ? maxInFlight - reserved : maxInFlight);
  const startNext = () => {
    for (const priority of ["high", "normal", "low"] as const) {
      while (waiting[priority].length > 0 && mayStart(priority)) {
        busy++;
        waiting[priority].shift()!();
      }
    }
  };
  return {
    async run(priority, work, signal) {
      await waitForTurn(waiting[priority], startNext, signal);
      try {
        return await work();
      } finally {
        busy--;
        startNext();
      }
    },
  };
}

function waitForTurn(
  queue: (() => void)[],
  startNext: () => void,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const leave = () => {
      queue.splice(queue.indexOf(start), 1);
      reject(signal?.reason);
    };
    const start = () => {
      signal?.removeEventListener("abort", leave);
      resolve();
    };
    queue.push(start);
    signal?.addEventListener("abort", leave, { once: true });
    startNext();
  });
}
