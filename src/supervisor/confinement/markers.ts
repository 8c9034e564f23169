/**
 * Finds the processes of apps without cgroups: by the run's marker in the environment of every descendant of the script.
 *
 * Guarantees: only processes that carry the marker are ever signaled, each checked by its start time.
 * Caveats: no caps; a process that clears its environment is not found once the script itself has ended; processes that
 * fork faster than the scan may need several rounds of `kill`.
 */
import { sleep } from "../../lib/sleep.ts";
import type { CapsState, Confinement } from "./types.ts";
import type { RunRef } from "../types.ts";
import { isAlive, type ProcessStat, scanMarkers, signalProcess, sumResidentBytes } from "../processes.ts";
import type { ProcessId } from "../types.ts";

const pollMs = 1000;
const recentMs = 5000;
const sameMomentMs = 500;
const secondScanMs = 20;

/** `why` is the reason for having no cgroups, as the status of apps with caps shows it. */
export function createMarkerConfinement(
  why: string,
  { scan = scanMarkers, now = Date.now }: { scan?: typeof scanMarkers; now?: () => number } = {},
): Confinement {
  const unlimited: CapsState = { enforced: false, reason: "LimitsUnavailable", message: why };
  const recentScan = reuseScan(scan, now);

  const scanFor = async (run: RunRef): Promise<ProcessId[]> => {
    const found: ProcessId[] = (await scan()).get(run.runId) ?? [];
    const known = found.some(({ pid }) => pid === run.main?.pid);
    return run.main && !known && isAlive(run.main) ? [...found, run.main] : found;
  };
  /** A process in the middle of a fork or execve shows no environment yet: only a second scan is proof that there is none. */
  const find = async (run: RunRef): Promise<ProcessId[]> => {
    const found = await scanFor(run);
    if (found.length > 0) return found;
    await sleep(secondScanMs);
    return await scanFor(run);
  };
  /** Some of the processes, if there are any: while a known one lives, the machine need not be scanned. */
  const findAny = async (run: RunRef): Promise<ProcessId[]> => {
    if (run.main && isAlive(run.main)) return [run.main];
    const recent: ProcessId[] = (await recentScan(recentMs)).get(run.runId) ?? [];
    const living = recent.filter(isAlive);
    return living.length > 0 ? living : await find(run);
  };
  const signalAll = async (run: RunRef, signal: NodeJS.Signals) => {
    await Promise.all((await find(run)).map((target) => signalProcess(target, signal)));
  };

  return {
    whyNoLimits: why,
    prepare: async () => ({ keeper: "", leaf: "", caps: unlimited }),
    leafOf: () => "",
    ensureCaps: async () => unlimited,
    processes: async (run) => (await findAny(run)).map(({ pid }) => pid),
    terminate: (run) => signalAll(run, "SIGTERM"),
    kill: (run) => signalAll(run, "SIGKILL"),
    thaw: async () => {},
    onEmpty: (run, callback) => pollUntilEmpty(() => findAny(run), callback),
    usage: async (run) => sumUsage((await recentScan(sameMomentMs)).get(run.runId) ?? []),
    // Exec processes may be left; see exec-processes.ts.
    removeRun: (run) => signalAll(run, "SIGKILL"),
    removeApp: async () => {},
    listRuns: async () => [],
  };
}

function sumUsage(processes: ProcessStat[]) {
  return {
    cpuSeconds: processes.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
    throttledSeconds: 0,
    memoryBytes: sumResidentBytes(processes.map(({ pid }) => pid)),
    processes: processes.length,
    oomKills: 0,
  };
}

/** Polls once a second; a poll that fails proves nothing, so polling continues. */
function pollUntilEmpty(find: () => Promise<unknown[]>, callback: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isOpen = true;
  const poll = async () => {
    const isEmpty = await find().then((found) => found.length === 0, () => false);
    if (!isOpen) return;
    if (isEmpty) callback();
    else timer = setTimeout(poll, pollMs);
  };
  timer = setTimeout(poll, pollMs);
  return () => {
    isOpen = false;
    clearTimeout(timer);
  };
}

/** Shares one scan among callers that accept a result of that age. */
function reuseScan<T>(scan: () => Promise<T>, now: () => number): (maxAgeMs: number) => Promise<T> {
  let last: { at: number; result: Promise<T> } | undefined;
  return (maxAgeMs) => {
    if (!last || now() - last.at > maxAgeMs) {
      last = { at: now(), result: scan() };
      last.result.catch(() => last = undefined);
    }
    return last.result;
  };
}
