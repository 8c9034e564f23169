import { isPopulated, readEvent, watchFile } from "./events.ts";

/** Every wait ends: by the state, by the time, or by the signal. */
export interface WaitOptions {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Waits until no process is left in the cgroup and below. False when the time is over first. */
export function waitUntilEmpty(dir: string, options: WaitOptions): Promise<boolean> {
  return waitFor(dir, () => !isPopulated(dir), options);
}

/** Waits until every process has stopped for a freeze. False when the time is over first. */
export function waitUntilFrozen(dir: string, options: WaitOptions): Promise<boolean> {
  return waitFor(dir, () => readEvent(dir, "frozen") !== 0, options);
}

/** Waits for a state that `cgroup.events` tells of. Rejects with the signal's reason when it is aborted. */
function waitFor(
  dir: string,
  isReached: () => boolean,
  { timeoutMs, signal }: WaitOptions,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = () => end(() => reject(signal!.reason));
    const timer = setTimeout(() => end(() => resolve(false)), timeoutMs);
    const watched = watchFile(`${dir}/cgroup.events`, look, true);
    signal?.addEventListener("abort", onAbort, { once: true });
    look();

    function look() {
      try {
        if (isReached()) end(() => resolve(true));
      } catch (error) {
        end(() => reject(error));
      }
    }
    function end(settle: () => void) {
      watched.close();
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      settle();
    }
  });
}
