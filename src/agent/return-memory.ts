/**
 * Gives memory back that an idle agent would hold for ever: what was needed only to start or to take over many apps, and what a
 * busy hour left behind.
 */
import process from "node:process";
import type { Logger } from "../lib/log.ts";
import { repeat } from "../lib/sleep.ts";

const lookMs = 5000;
/** Of a core, over one look: with more than this the agent is busy, and a pause to collect would come at a bad time. */
const busyShare = 0.1;
/** A quiet agent makes little garbage, but it makes some. */
const looksBetween = 120;

/** Looks every few seconds; collects garbage when a busy time is over, and now and then. Only the built executable has a `gc` to call. */
export async function returnMemory(signal: AbortSignal, log: Logger): Promise<void> {
  const { gc } = globalThis as { gc?: (options: object) => void };
  if (!gc) return;
  const isTime = createCollectTimes();
  let last = process.cpuUsage();
  await repeat(lookMs, signal, async () => {
    const { user, system } = process.cpuUsage(last);
    last = process.cpuUsage();
    if (isTime((user + system) / 1000 / lookMs)) {
      gc({ type: "major", execution: "sync", flavor: "last-resort" });
    }
  }, log);
}

/** Decides, look by look, whether it is time to collect; `share` is what the agent used of a core since the last look. Pure. */
export function createCollectTimes(): (share: number) => boolean {
  let owed = true;
  let looks = 0;
  return (share) => {
    if (share > busyShare || ++looks >= looksBetween) owed = true;
    if (share > busyShare || !owed) return false;
    owed = false;
    looks = 0;
    return true;
  };
}
