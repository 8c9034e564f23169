import { describeError, type Logger } from "./log.ts";
import { sleep } from "./sleep.ts";

/** Calls `tick` every `ms` until the signal aborts, one call at a time; a call that fails is logged, the next one comes. */
export async function repeat(
  ms: number,
  signal: AbortSignal,
  tick: () => Promise<void>,
  log: Logger,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(ms, signal);
    if (signal.aborted) return;
    try {
      await tick();
    } catch (error) {
      log.error("periodic work failed", { why: describeError(error) });
    }
  }
}
