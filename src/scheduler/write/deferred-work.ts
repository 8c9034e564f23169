/**
 * Work that can wait until the binds are sent: binding the next app matters more than reporting the last bind.
 *
 * Each item runs after `delayMs`. While binds are in flight, an item runs only after `longestMs`, and few run at a time.
 */
import { steadyNow } from "../../lib/time.ts";

export interface DeferredWork {
  add(work: () => void): void;
  flush(): void;
}

export interface DeferredWorkOptions {
  isBusy: () => boolean;
  signal: AbortSignal;
  delayMs?: number;
  longestMs?: number;
  stepMs?: number;
  now?: () => number;
}

const perStep = 25;
const perBusyStep = 5;

export function createDeferredWork(options: DeferredWorkOptions): DeferredWork {
  const { isBusy, signal, delayMs = 3000, longestMs = 30_000, stepMs = 100, now = steadyNow } = options;
  const items: { work: () => void; addedAt: number }[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });

  const step = () => {
    timer = undefined;
    const busy = isBusy();
    const dueBefore = now() - (busy ? longestMs : delayMs);
    for (
      let count = busy ? perBusyStep : perStep;
      count > 0 && (items[0]?.addedAt ?? Infinity) <= dueBefore;
      count--
    ) {
      items.shift()!.work();
    }
    arm();
  };

  const arm = () => {
    if (timer !== undefined || items.length === 0 || signal.aborted) return;
    timer = setTimeout(step, Math.max(stepMs, items[0]!.addedAt + delayMs - now()));
  };

  return {
    add(work) {
      items.push({ work, addedAt: now() });
      arm();
    },
    flush() {
      for (const { work } of items.splice(0)) work();
    },
  };
}
