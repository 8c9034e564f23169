/** Work on many things without holding up the rest of the process. */
import { sleep } from "../../lib/sleep.ts";

export interface SpreadOptions {
  signal: AbortSignal;
  /** How long the whole may take by its waits. */
  withinMs?: number;
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const gapMs = 20;

/** Does `work` for each item, a few at a time with a wait between them, more at a time where there are many; ends early when `signal` aborts. */
export async function spread<T>(
  items: T[],
  work: (item: T) => void,
  { signal, withinMs = 1000, wait = sleep }: SpreadOptions,
): Promise<void> {
  const atATime = Math.max(4, Math.ceil(items.length * gapMs / withinMs));
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % atATime === 0) await wait(gapMs, signal);
    if (signal.aborted) return;
    work(item);
  }
}
