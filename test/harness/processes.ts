/** Finds processes of this machine, for tests that must leave none behind. */
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Returns the ids of the processes that have the text in their command line. */
export async function processesNaming(text: string): Promise<number[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  // A process may end while it is read.
  const named = async (id: string) =>
    (await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "")).includes(text);
  const found = await Promise.all(ids.map(named));
  return ids.filter((_, index) => found[index]).map(Number);
}

/** Waits until no process has the text in its command line. */
export async function waitUntilNoProcess(text: string, { timeoutMs = 30_000 } = {}): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (let ids = await processesNaming(text); ids.length > 0; ids = await processesNaming(text)) {
    if (Date.now() > deadline) throw new Error(`after ${timeoutMs} ms processes ${ids} still name "${text}"`);
    await sleep(20);
  }
}
