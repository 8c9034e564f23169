/**
 * Waits for more in a folder. While there is much going on it looks every 50 ms and leaves the kernel's notifications
 * alone, which a writer at full speed would turn into a flood; when it has become quiet it lets itself be woken.
 */
import { watch } from "node:fs";
import { sleep } from "../../lib/sleep.ts";

export interface Waiter {
  /** Something was found. */
  found(): void;
  /** Nothing was found: returns when it is worth to look again. */
  wait(signal: AbortSignal): Promise<void>;
  [Symbol.dispose](): void;
}

export interface WaiterOptions {
  busyMs?: number;
  /** So many looks in vain mean quiet. */
  patience?: number;
  /** The longest wait, should a notification be lost. */
  quietMs?: number;
}

/** Makes a waiter for one reader. */
export function createWaiter(
  folder: string,
  { busyMs = 50, patience = 4, quietMs = 5000 }: WaiterOptions = {},
): Waiter {
  let vain = 0;
  let watched: { woken: AbortController; close: () => void } | undefined;
  const unwatch = () => {
    watched?.close();
    watched = undefined;
  };
  return {
    found() {
      vain = 0;
      unwatch();
    },
    async wait(signal) {
      if (++vain <= patience) return await sleep(busyMs, signal);
      if (!watched) {
        // What came before the watch did would be missed: look once more first.
        watched = startWatch(folder);
        return;
      }
      await sleep(quietMs, AbortSignal.any([signal, watched.woken.signal]));
      unwatch();
      vain = patience;
    },
    [Symbol.dispose]: unwatch,
  };
}

function startWatch(folder: string) {
  const woken = new AbortController();
  const wake = () => woken.abort();
  try {
    const watcher = watch(folder, { persistent: false }, wake).on("error", wake);
    return { woken, close: () => watcher.close() };
  } catch {
    // No more watches to be had on this machine: the longest wait is all there is.
    return { woken, close: () => {} };
  }
}
