/**
 * Waiting for a cgroup to be empty or frozen, by the notifications of `cgroup.events`.
 *
 * Guarantees: each notification only causes a new read, so any number of them may be merged into one. If the kernel is out of inotify
 * watches, the file is read every second instead. Every wait ends: with the state or the timeout.
 * Caveat: the kernel does not notify about the removal of a cgroup: close the watch of a cgroup that you remove.
 */
import { type FSWatcher, watch } from "node:fs";
import { readTextIfAny } from "./file.ts";
import { parseFlat } from "./parse.ts";

/**
 * Calls `onEmpty` at once if the cgroup is empty or gone, and then each time its last process ends, until `close()`.
 *
 * Caveats: the watch does not keep Node alive; it keeps Deno alive until `close()`. A cgroup that is empty only until the next read is
 * not reported.
 */
export function watchEmpty(dir: string, onEmpty: () => void): { close(): void } {
  let isOpen = true;
  let wasEmpty = false;
  let retry: NodeJS.Timeout | undefined;

  const check = () => {
    if (!isOpen) return;
    const isEmpty = readEmpty(dir);
    if (isEmpty === undefined) {
      // Out of descriptors or memory: the kernel does not notify twice, so try again.
      retry = setTimeout(check, POLL_MS).unref();
      return;
    }
    if (isEmpty && !wasEmpty) onEmpty();
    wasEmpty = isEmpty;
  };
  const watched = watchFile(`${dir}/cgroup.events`, check, false);
  check();
  return {
    close() {
      isOpen = false;
      clearTimeout(retry);
      watched.close();
    },
  };
}

interface WaitOptions {
  timeoutMs: number;
}

/** Waits until the cgroup and everything below it has no process. False after the timeout. */
export function waitUntilEmpty(dir: string, options: WaitOptions): Promise<boolean> {
  return waitFor(dir, () => !isPopulated(dir), options);
}

/** Waits until a freeze has stopped every process. False after the timeout. */
export function waitUntilFrozen(dir: string, options: WaitOptions): Promise<boolean> {
  return waitFor(dir, () => readEvent(dir, "frozen") !== 0, options);
}

/** Reports whether the cgroup or anything below it has a process. False when it is gone. */
export function isPopulated(dir: string): boolean {
  return readEvent(dir, "populated") === 1;
}

const POLL_MS = 1000;

/** Waits for a state that `cgroup.events` reports. */
function waitFor(dir: string, isReached: () => boolean, { timeoutMs }: WaitOptions): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(() => resolve(false)), timeoutMs);
    const watched = watchFile(`${dir}/cgroup.events`, check, true);
    check();

    function check() {
      try {
        if (isReached()) end(() => resolve(true));
      } catch (error) {
        end(() => reject(error));
      }
    }
    function end(settle: () => void) {
      watched.close();
      clearTimeout(timer);
      settle();
    }
  });
}

/** A field of `cgroup.events`; undefined when the cgroup is gone. */
function readEvent(dir: string, field: "populated" | "frozen"): number | undefined {
  const text = readTextIfAny(dir, "cgroup.events");
  return text === undefined ? undefined : parseFlat(text, `${dir}/cgroup.events`)[field];
}

/** Undefined when the file cannot be read at the moment. */
function readEmpty(dir: string): boolean | undefined {
  try {
    return !isPopulated(dir);
  } catch {
    return undefined;
  }
}

function watchFile(path: string, onChange: () => void, persistent: boolean): { close(): void } {
  let watcher: FSWatcher | undefined;
  let poll: NodeJS.Timeout | undefined;
  const startPolling = () => {
    watcher?.close();
    watcher = undefined;
    poll ??= setInterval(onChange, POLL_MS);
    if (!persistent) poll.unref();
  };
  try {
    watcher = watch(path, { persistent }, onChange);
    watcher.on("error", startPolling);
  } catch (error) {
    if ((error as { code?: string }).code !== "ENOENT") startPolling();
  }
  return {
    close() {
      watcher?.close();
      clearInterval(poll);
    },
  };
}
