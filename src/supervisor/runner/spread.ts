/** Spreads work on many items over time, so that it does not block the event loop. */
import { sleep } from "../../lib/sleep.ts";

export interface SpreadOptions {
  signal: AbortSignal;
  /** The most that the waits may add up to. */
  withinMs?: number;
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const gapMs = 20;

/** Calls `work` for each item, in batches with a wait between them. Ends early when `signal` aborts. */
export async function spread<T>(
  items: T[],
  work: (item: T) => void,
  { signal, withinMs = 1000, wait = sleep }: SpreadOptions,
): Promise<void> {
  const batchSize = Math.max(4, Math.ceil(items.length * gapMs / withinMs));
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % batchSize === 0) await wait(gapMs, signal);
    if (signal.aborted) return;
    work(item);
  }
}
