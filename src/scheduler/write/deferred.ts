/**
 * What can wait until the binds are through: to tell that an app was bound matters less than to bind the next one.
 *
 * Each item is due after `delayMs`. While binds are under way only those go out that have waited for `longestMs`, and few at a time.
 */
import { steadyNow } from "../../lib/steady-clock.ts";

export interface Late {
  add(work: () => void): void;
  /** Does now all that is left. */
  flush(): void;
}

export interface LateOptions {
  isBusy: () => boolean;
  signal: AbortSignal;
  delayMs?: number;
  longestMs?: number;
  stepMs?: number;
  now?: () => number;
}

const perStep = 25;
const perBusyStep = 5;

export function createLate(options: LateOptions): Late {
  const { isBusy, signal, delayMs = 3000, longestMs = 30_000, stepMs = 100, now = steadyNow } = options;
  const waiting: { work: () => void; since: number }[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });

  const step = () => {
    timer = undefined;
    const busy = isBusy();
    const dueBefore = now() - (busy ? longestMs : delayMs);
    for (
      let count = busy ? perBusyStep : perStep;
      count > 0 && (waiting[0]?.since ?? Infinity) <= dueBefore;
      count--
    ) {
      waiting.shift()!.work();
    }
    plan();
  };

  const plan = () => {
    if (timer !== undefined || waiting.length === 0 || signal.aborted) return;
    timer = setTimeout(step, Math.max(stepMs, waiting[0]!.since + delayMs - now()));
  };

  return {
    add(work) {
      waiting.push({ work, since: now() });
      plan();
    },
    flush() {
      for (const { work } of waiting.splice(0)) work();
    },
  };
}
