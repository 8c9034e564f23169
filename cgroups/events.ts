/**
 * Empty and out-of-memory, told by the kernel.
 *
 * Guarantees: `onEmpty` is called once at the start if the cgroup is already empty or gone, and then each time
 * its last process ends; `onOom` each time the kernel killed for memory, also before `onEmpty` of the same end.
 * Each notification makes us look again, so any number of them may fold into one. Nothing is called after
 * `close()`. Where the kernel is out of watches, the files are read every second instead.
 * Caveats: a watch does not keep Node alive; Deno lives until `close()`. An empty that is over before it could
 * be read is not told. Removing a cgroup is not notified by the kernel: close the watch of what you remove.
 */
import { type FSWatcher, watch } from "node:fs";
import { readTextIfAny } from "./file.ts";
import { type MemoryEvents, parseMemoryEvents } from "./limits/memory.ts";
import { parseFlat } from "./parse.ts";

export interface EventHandlers {
  /** The last process of the cgroup and everything below it has ended, or the cgroup is gone. */
  onEmpty?: () => void;
  /** The kernel killed for memory since the last call (or since `oomKillsSeen`). */
  onOom?: (events: MemoryEvents) => void;
}

export interface WatchOptions {
  /** Kills already known of, so that one between two agents is not missed. Default: what the file reads now. */
  oomKillsSeen?: number;
  /** True keeps the process alive while watching. */
  persistent?: boolean;
}

/** Watches a cgroup. `memory.events` is watched where the memory controller is enabled for it. */
export function watchEvents(
  dir: string,
  { onEmpty, onOom }: EventHandlers,
  { oomKillsSeen, persistent = false }: WatchOptions = {},
): { close(): void } {
  let open = true;
  let wasEmpty = false;
  let seen = oomKillsSeen;
  let again: ReturnType<typeof setTimeout> | undefined;

  const look = () => {
    if (!open) return;
    const state = readState(dir);
    if (state === undefined) {
      // Out of descriptors or memory: no notification comes again for what was missed, so look once more.
      again = setTimeout(look, POLL_MS);
      if (!persistent) again.unref();
      return;
    }
    if (state.events && onOom) {
      const before = seen ?? state.events.oomKills;
      seen = state.events.oomKills;
      if (state.events.oomKills > before) onOom(state.events);
    }
    // The handler above may have closed the watch.
    if (state.isEmpty && !wasEmpty && open) onEmpty?.();
    wasEmpty = state.isEmpty;
  };
  const watches = [watchFile(`${dir}/cgroup.events`, look, persistent)];
  if (onOom) watches.push(watchFile(`${dir}/memory.events`, look, persistent));
  look();
  return {
    close() {
      open = false;
      clearTimeout(again);
      for (const watched of watches) watched.close();
    },
  };
}

/** Whether any process lives in the cgroup or below it. False when it is gone. */
export function isPopulated(dir: string): boolean {
  return readEvent(dir, "populated") === 1;
}

/** A field of `cgroup.events`; undefined when the cgroup is gone. */
export function readEvent(dir: string, field: "populated" | "frozen"): number | undefined {
  const text = readTextIfAny(dir, "cgroup.events");
  return text === undefined ? undefined : parseFlat(text, `${dir}/cgroup.events`)[field];
}

/** Calls `onChange` whenever the kernel says that the file reads differently. */
export function watchFile(path: string, onChange: () => void, persistent: boolean): { close(): void } {
  let watcher: FSWatcher | undefined;
  let poll: ReturnType<typeof setInterval> | undefined;
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

const POLL_MS = 1000;

/** Undefined when it cannot be read just now. */
function readState(dir: string): { isEmpty: boolean; events: MemoryEvents | undefined } | undefined {
  try {
    // In this order: when it is empty, whatever was killed has been counted.
    const isEmpty = !isPopulated(dir);
    const text = readTextIfAny(dir, "memory.events");
    return {
      isEmpty,
      events: text === undefined ? undefined : parseMemoryEvents(text, `${dir}/memory.events`),
    };
  } catch {
    return undefined;
  }
}
