/**
 * Waits for more output in a log folder. It polls every 50 ms while the log grows: a fast writer would flood it with inotify events.
 * After a few empty polls it switches to inotify.
 */
import { watch } from "node:fs";
import { sleep as realSleep } from "../../lib/sleep.ts";

export interface Waiter {
  /** Call it when a read returned data: the next waits are short again. */
  gotData(): void;
  /** Returns when it is worth reading again, or when `signal` aborts. */
  wait(signal: AbortSignal): Promise<void>;
  [Symbol.dispose](): void;
}

export interface WaiterOptions {
  pollMs?: number;
  /** Empty polls before switching to inotify. */
  emptyPolls?: number;
  /** The longest wait, in case a notification is lost. */
  maxWaitMs?: number;
  /** False for a remote file system: the kernel sees no changes of others there, and starting a watch may block the event loop. */
  canWatch?: boolean;
  sleep?: typeof realSleep;
}

/** The time between reads of a quiet log that cannot be watched. */
const unwatchedMs = 1000;

export function createWaiter(
  folder: string,
  { pollMs = 50, emptyPolls = 4, maxWaitMs = 5000, canWatch = true, sleep = realSleep }: WaiterOptions = {},
): Waiter {
  let polls = 0;
  let watched: { changed: AbortController; close: () => void } | undefined;
  const unwatch = () => {
    watched?.close();
    watched = undefined;
  };
  return {
    gotData() {
      polls = 0;
      unwatch();
    },
    async wait(signal) {
      if (++polls <= emptyPolls) return await sleep(pollMs, signal);
      if (!canWatch) return await sleep(Math.min(maxWaitMs, unwatchedMs), signal);
      if (!watched) {
        // A write before the watch started would be missed: let the caller read once more.
        watched = startWatch(folder);
        return;
      }
      await sleep(maxWaitMs, AbortSignal.any([signal, watched.changed.signal]));
      unwatch();
      polls = emptyPolls;
    },
    [Symbol.dispose]: unwatch,
  };
}

function startWatch(folder: string) {
  const changed = new AbortController();
  const onChange = () => changed.abort();
  try {
    const watcher = watch(folder, { persistent: false }, onChange).on("error", onChange);
    return { changed, close: () => watcher.close() };
  } catch {
    // Out of inotify watches: the longest wait must suffice.
    return { changed, close: () => {} };
  }
}
