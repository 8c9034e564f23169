/**
 * Confines apps with cgroup v2: `<root>/<app>` has the caps, `<root>/<app>/<run>` the processes of one run. The cgroup of an app
 * stays until the app is deleted: what a run leaves behind, such as files in /dev/shm, stays charged to the app, not to the node.
 *
 * Without the controllers, it still knows exactly which processes belong to a run and kills all of them; `whyNoLimits` then says
 * what is missing for the caps.
 *
 * An app that runs as root can leave its cgroup, as everything does that `su -` starts where PAM creates a session. Such
 * processes are put back into the run's cgroup: when it is empty, unless the script ended and left nothing behind, before a stop,
 * and from time to time. What cannot be put back is signaled by pid and start time, and reported as Escaped.
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import * as cgroups from "../../../cgroups/mod.ts";
import { memoize } from "../../lib/memoize.ts";
import { isAlive, readBootId, readStat, signalProcess, sumResidentBytes } from "../processes.ts";
import { type ProcessTable, reuseScan, scanProcesses } from "../process-table.ts";
import { isRunId } from "../run-ref.ts";
import { pollUntilEmpty } from "./poll.ts";
import type { Caps, CapsState, Confinement, Usage } from "./types.ts";
import type { ProcessId, RunRef } from "../types.ts";

export interface CgroupConfinementOptions {
  root: cgroups.LocatedRoot;
  size: cgroups.NodeSize;
  /** Why caps cannot be enforced below this root; empty if they can. */
  whyNoLimits?: string;
  /** A root that new runs do not use: the cgroup of an app goes with its last run. */
  isFormer?: boolean;
  /** Creates the root again after it was removed, such as by `systemctl stop nckubelet-apps.scope`. */
  restoreRoot?: () => Promise<void>;
}

const killTimeoutMs = 10_000;
/** How often the machine is searched for processes that have left their cgroup. */
const searchEveryMs = 30_000;
/** A stray may fork while it is put back. */
const maxRounds = 3;

export function createCgroupConfinement(
  { root, size, whyNoLimits = "", isFormer = false, restoreRoot }: CgroupConfinementOptions,
): Confinement {
  const appDir = (folder: string) => join(root.root, cgroups.checkName(folder));
  const runDir = ({ folder, runId }: RunRef) => join(appDir(folder), cgroups.checkName(runId));

  const bootId = readBootId();
  const hasMemory = root.controllers.includes("memory");

  const limitsOf = memoize((caps: Caps) =>
    cgroups.splitByControllers(cgroups.limitsFor(caps, size), root.controllers)
  );

  const recentScan = reuseScan(scanProcesses, Date.now);

  /** By scan: the runs that have no process outside of their cgroup. */
  const searched = new WeakMap<ProcessTable, Set<string>>();

  /** Puts processes that have left the run's cgroup back; returns those that it cannot. */
  const putBack = async (run: RunRef, scan = scanProcesses): Promise<ProcessId[]> => {
    const leaf = runDir(run);
    for (let round = 1;; round++) {
      const table = await (round === 1 ? scan() : scanProcesses());
      const clean = searched.get(table) ?? new Set();
      if (clean.has(run.runId)) return [];
      const inside = cgroups.listProcesses(leaf).map(readStat).filter((stat) => stat !== undefined);
      const pids = new Set(inside.map(({ pid }) => pid));
      const strays = table.membersOf(run, inside).filter((seen) => !pids.has(seen.pid) && isAlive(seen));
      if (strays.length === 0) searched.set(table, clean.add(run.runId));
      const moved = strays.filter((stray) => enter(leaf, stray));
      if (moved.length === 0 || round === maxRounds) return strays.filter((stray) => !moved.includes(stray));
    }
  };
  const signalStrays = async (strays: ProcessId[], signal: NodeJS.Signals) => {
    await Promise.all(strays.map((stray) => signalProcess(stray, signal)));
  };
  const processes = async (run: RunRef): Promise<number[]> => {
    const inside = cgroups.listProcesses(runDir(run));
    if (inside.length > 0 || !run.main || run.alone) return inside;
    const strays = (await putBack(run)).map(({ pid }) => pid);
    return [...new Set([...cgroups.listProcesses(runDir(run)), ...strays])];
  };

  const setCaps = async (folder: string, caps: Caps): Promise<CapsState> => {
    const { enforced, unenforced } = limitsOf(caps);
    const { pending } = await cgroups.ensureLimits(appDir(folder), enforced);
    if (pending) return { enforced: false, reason: "ResizePending", message: pending.message };
    const missing = unenforced.filter(({ file }) => file !== "pids.max").map(({ file, value }) =>
      `${file} ${value}`
    );
    if (missing.length === 0) return { enforced: true };
    return {
      enforced: false,
      reason: "LimitsUnavailable",
      message: `cannot set ${missing.join(", ")}: ${whyNoLimits}`,
    };
  };

  const prepareApp = async (folder: string, caps: Caps): Promise<CapsState> => {
    if (!existsSync(root.keeper)) await restoreRoot?.();
    const isNew = cgroups.createCgroup(appDir(folder));
    if (!isNew && root.controllers.length > 0) cgroups.resetProtections(appDir(folder));
    return await setCaps(folder, caps);
  };

  const ensureCaps = async (run: RunRef, caps: Caps): Promise<CapsState> => {
    const state = await setCaps(run.folder, caps);
    const hasLeft = !cgroups.isPopulated(runDir(run)) && run.main !== undefined && isAlive(run.main);
    const strays = await putBack(run, hasLeft ? scanProcesses : () => recentScan(searchEveryMs));
    return strays.length === 0 ? state : escaped(strays);
  };

  return {
    whyNoLimits,
    prepareApp,
    async prepare(run, caps) {
      const state = await prepareApp(run.folder, caps);
      return { keeper: root.keeper, leaf: cgroups.openCgroup(appDir(run.folder), run.runId), caps: state };
    },
    detach: (pid) => cgroups.moveProcess(pid, root.keeper),
    leafOf: runDir,
    ensureCaps,
    processes,
    async signal(run, name) {
      const strays = await putBack(run);
      await cgroups.signalAll(runDir(run), name);
      await signalStrays(strays, name);
    },
    async kill(run) {
      const strays = await putBack(run);
      await cgroups.kill(runDir(run));
      await signalStrays(strays, "SIGKILL");
    },
    async thaw(run) {
      cgroups.thaw(runDir(run));
    },
    onEmpty(run, callback) {
      let stopPolling = () => {};
      const watch = cgroups.watchEmpty(runDir(run), () => {
        stopPolling();
        stopPolling = pollUntilEmpty(() => processes(run), callback);
      });
      return () => {
        watch.close();
        stopPolling();
      };
    },
    usage: async (run) => readUsage(appDir(run.folder), runDir(run), { hasMemory, bootId }),
    kills({ folder }) {
      const kills = hasMemory ? cgroups.readKills(appDir(folder)) : undefined;
      const dir = kills && statSync(appDir(folder), { throwIfNoEntry: false });
      return dir && { cgroup: `${bootId} ${dir.ino}`, ...kills };
    },
    async removeRun(run) {
      await cgroups.kill(runDir(run));
      await cgroups.waitUntilEmpty(runDir(run), { timeoutMs: killTimeoutMs });
      await cgroups.removeTree(runDir(run));
      if (isFormer && cgroups.listChildren(appDir(run.folder)).length === 0) {
        await cgroups.removeTree(appDir(run.folder));
      }
    },
    async removeApp(folder) {
      await cgroups.kill(appDir(folder));
      await cgroups.waitUntilEmpty(appDir(folder), { timeoutMs: killTimeoutMs });
      await cgroups.removeTree(appDir(folder));
    },
    listRuns: async () =>
      cgroups.listChildren(root.root).filter(isAppFolder).flatMap((folder) =>
        cgroups.listChildren(join(root.root, folder)).filter(isRunId).map((runId) => ({ folder, runId }))
      ),
  };
}

function readUsage(
  dir: string,
  run: string,
  { hasMemory, bootId }: { hasMemory: boolean; bootId: string },
): Usage | undefined {
  const stats = cgroups.readStats(dir, { hasMemory });
  const folder = statSync(dir, { throwIfNoEntry: false });
  if (!stats || !folder) return undefined;
  const counters = `${bootId} ${folder.ino}`;
  // Most apps have one run, by the link count of the folder; then the other folders need not be listed.
  const isOnlyOne = folder.nlink === 3 && existsSync(run);
  // Not pids.current, which counts threads.
  const pids = cgroups.listProcesses(isOnlyOne ? run : dir);
  return {
    counters,
    cpuSeconds: stats.cpu.usageUsec / 1e6,
    throttledSeconds: stats.cpu.throttledUsec / 1e6,
    memoryBytes: stats.memory?.currentBytes ?? sumResidentBytes(pids),
    processes: pids.length,
    ...(stats.memory ? { kills: { cgroup: counters, ...stats.memory.kills } } : {}),
  };
}

/** Moves a process into the cgroup of its run; false if that is not possible. */
function enter(leaf: string, stray: ProcessId): boolean {
  if (!isAlive(stray)) return false;
  try {
    cgroups.moveProcess(stray.pid, cgroups.findEntry(leaf));
    return true;
  } catch (error) {
    if (error instanceof cgroups.CgroupError) return false;
    throw error;
  }
}

function escaped(strays: ProcessId[]): CapsState {
  const pids = strays.map(({ pid }) => pid);
  const shown = pids.length > 5
    ? `${pids.slice(0, 5).join(", ")} and ${pids.length - 5} more`
    : pids.join(", ");
  return {
    enforced: false,
    reason: "Escaped",
    message:
      `${
        pids.length === 1 ? "process" : "processes"
      } ${shown} left the cgroup of the app and cannot be put back, ` +
      "so no cap holds there; a stop still ends them",
  };
}

/** The cgroups of apps are named `namespace_name`; anything else below the root is not an app. */
function isAppFolder(name: string): boolean {
  return name.includes("_");
}
