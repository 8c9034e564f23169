/**
 * Gives memory back that an idle agent would hold for ever: what was needed only to start, and what a busy hour left behind.
 */
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { repeat } from "./repeat.ts";

const afterStartMs = 5000;
const periodMs = 600_000;

/** Collects garbage soon after the start and then now and then. Only the built executable has a `gc` to call. */
export async function returnMemory(signal: AbortSignal, log: Logger): Promise<void> {
  const { gc } = globalThis as { gc?: (options: object) => void };
  const collect = async () => gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
  await sleep(afterStartMs, signal);
  await collect();
  await repeat(periodMs, signal, collect, log);
}
