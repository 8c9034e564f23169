/** The longest wait that a timer can hold; a longer one would fire at once. */
const longestMs = 2 ** 31 - 1;

/**
 * Waits `ms`, or until `signal` aborts. Never rejects: a loop that sleeps looks at its signal next.
 * Waits beyond 24 days end after 24 days.
 */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, Math.min(Math.max(ms, 0), longestMs));
    signal?.addEventListener("abort", finish, { once: true });
  });
}
