/**
 * Finds the processes of apps without cgroups: by the run's marker in their environment, their parents, sessions and process
 * groups, and the app's log; see process-table.ts.
 *
 * Guarantees: only processes that were found to be of the run are ever signaled, each checked by its start time.
 * Caveats: no caps; a process that clears its environment and leaves its session is found only if a scan has seen it while its
 * parent lived, or if it writes to the log; processes that fork faster than the scan may need several rounds of `kill`.
 */
import { sleep } from "../../lib/sleep.ts";
import type { Confinement } from "./types.ts";
import { isAlive, type ProcessStat, signalProcess, sumResidentBytes } from "../processes.ts";
import { type ProcessTable, reuseScan, scanProcesses } from "../process-table.ts";
import { pollUntilEmpty } from "./poll.ts";
import type { ProcessId, RunRef } from "../types.ts";

const mayLoseProcesses =
  "without cgroups, a process that clears its environment and starts its own session may be lost";
const recentMs = 5000;
const sameMomentMs = 500;
const secondScanMs = 20;

/** `why` is the reason for having no cgroups, as the status of apps with caps shows it. */
export function createMarkerConfinement(
  why: string,
  { scan = scanProcesses, now = Date.now }: { scan?: typeof scanProcesses; now?: () => number } = {},
): Confinement {
  const unlimited = { enforced: false, reason: "LimitsUnavailable", message: why } as const;
  const recentScan = reuseScan(scan, now);

  const allOf = (run: RunRef, table: ProcessTable) => [...table.membersOf(run), ...table.execsOf(run)];
  const scanFor = async (run: RunRef) => allOf(run, await scan());
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
    const recent = allOf(run, await recentScan(recentMs)).filter(isAlive);
    return recent.length > 0 ? recent : await find(run);
  };
  const signalAll = async (run: RunRef, signal: NodeJS.Signals) => {
    await Promise.all((await find(run)).map((target) => signalProcess(target, signal)));
  };

  return {
    whyNoLimits: why,
    prepareApp: async () => unlimited,
    prepare: async () => ({ keeper: "", leaf: "", caps: unlimited }),
    detach: () => {},
    leafOf: () => "",
    ensureCaps: async () => ({ ...unlimited, message: `${why}; ${mayLoseProcesses}` }),
    processes: async (run) => (await findAny(run)).map(({ pid }) => pid),
    signal: signalAll,
    kill: (run) => signalAll(run, "SIGKILL"),
    thaw: async () => {},
    onEmpty: (run, callback) => pollUntilEmpty(() => findAny(run), callback),
    usage: async (run) => sumUsage(allOf(run, await recentScan(sameMomentMs))),
    kills: () => undefined,
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
  };
}
