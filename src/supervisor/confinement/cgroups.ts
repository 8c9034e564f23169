/**
 * Confines apps with cgroup v2: `<root>/<app>` has the caps, `<root>/<app>/<run>` the processes of one run.
 *
 * Without the controllers, it still knows exactly which processes belong to a run and kills all of them; `whyNoLimits` then says
 * what is missing for the caps.
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import * as cgroups from "../../../cgroups/mod.ts";
import { memoize } from "../../lib/memoize.ts";
import { sumResidentBytes } from "../processes.ts";
import { isRunId } from "../run-ref.ts";
import type { Caps, CapsState, Confinement, Usage } from "./types.ts";
import type { RunRef } from "../types.ts";

export interface CgroupConfinementOptions {
  root: cgroups.LocatedRoot;
  size: cgroups.NodeSize;
  /** Why caps cannot be enforced below this root; empty if they can. */
  whyNoLimits?: string;
  /** Creates the root again after it was removed, such as by `systemctl stop nckubelet-apps.scope`. */
  restoreRoot?: () => Promise<void>;
}

const killTimeoutMs = 10_000;

export function createCgroupConfinement(
  { root, size, whyNoLimits = "", restoreRoot }: CgroupConfinementOptions,
): Confinement {
  const appDir = (folder: string) => join(root.root, cgroups.checkName(folder));
  const runDir = ({ folder, runId }: RunRef) => join(appDir(folder), cgroups.checkName(runId));

  const measured = ["memory", "pids"].filter((name) => root.controllers.includes(name));

  const limitsOf = memoize((caps: Caps) =>
    cgroups.splitByControllers(cgroups.limitsFor(caps, size), root.controllers)
  );

  const ensureCaps = async ({ folder }: RunRef, caps: Caps): Promise<CapsState> => {
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

  return {
    whyNoLimits,
    async prepare(run, caps) {
      if (!existsSync(root.keeper)) await restoreRoot?.();
      await removeIfEmpty(appDir(run.folder));
      cgroups.openApp(root.root, run.folder);
      const state = await ensureCaps(run, caps);
      return { keeper: root.keeper, leaf: cgroups.openRun(appDir(run.folder), run.runId), caps: state };
    },
    leafOf: runDir,
    ensureCaps,
    processes: async (run) => cgroups.listProcesses(runDir(run)),
    async terminate(run) {
      await cgroups.signalAll(runDir(run), "SIGTERM");
    },
    async kill(run) {
      await cgroups.kill(runDir(run));
    },
    async thaw(run) {
      cgroups.thaw(runDir(run));
    },
    onEmpty(run, callback) {
      const watch = cgroups.watchEmpty(runDir(run), callback);
      return () => watch.close();
    },
    usage: async (run) => readUsage(appDir(run.folder), runDir(run), measured),
    async removeRun(run) {
      await cgroups.kill(runDir(run));
      await cgroups.waitUntilEmpty(runDir(run), { timeoutMs: killTimeoutMs });
      await cgroups.removeTree(runDir(run));
      await removeIfEmpty(appDir(run.folder));
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

function readUsage(dir: string, run: string, controllers: string[]): Usage | undefined {
  const stats = cgroups.readStats(dir, { controllers });
  const folder = statSync(dir, { throwIfNoEntry: false });
  if (!stats || !folder) return undefined;
  // Most apps have one run, by the link count of the folder; then the other folders need not be listed.
  const isOnlyOne = folder.nlink === 3 && existsSync(run);
  const pids = stats.memory && stats.pids ? [] : cgroups.listProcesses(isOnlyOne ? run : dir);
  return {
    counters: String(folder.ino),
    cpuSeconds: stats.cpu.usageUsec / 1e6,
    throttledSeconds: stats.cpu.throttledUsec / 1e6,
    memoryBytes: stats.memory?.currentBytes ?? sumResidentBytes(pids),
    memoryPeakBytes: stats.memory?.peakBytes,
    processes: stats.pids?.current ?? pids.length,
    oomKills: countOomKills(stats.memory),
  };
}

/** A group kill counts once, however many processes the app had; before Linux 5.17 only processes are counted. */
function countOomKills({ oomKills, oomGroupKills } = { oomKills: 0, oomGroupKills: 0 }): number {
  return oomGroupKills > 0 ? oomGroupKills : oomKills;
}

/** Removes the cgroup of an app without runs, so that the kernel's counters start at zero with the next run. */
async function removeIfEmpty(dir: string): Promise<void> {
  if (existsSync(dir) && cgroups.listChildren(dir).length === 0 && !cgroups.isPopulated(dir)) {
    await cgroups.removeTree(dir);
  }
}

/** The cgroups of apps are named `namespace_name`; anything else below the root is not an app. */
function isAppFolder(name: string): boolean {
  return name.includes("_");
}
