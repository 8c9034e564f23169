/**
 * Distinguishes the processes of an app from exec processes: those of exec probes and `nckubelet exec`, and what they start.
 * These run in the app's cgroup but are not part of the app: an app whose own processes have ended is over, and its exec
 * processes end with the run.
 *
 * An exec process carries the id of the run in its environment, from before it enters the cgroup, and so do the processes that it
 * starts.
 * Guarantees: only that variable makes a process an exec process. "Only exec processes are left" is reported after a second check
 * of everything that the confinement and the markers know, during which no listed process ended.
 * Caveats: what an exec process starts without its environment, or what overwrites it, counts as the app's own. A service that a
 * user starts by hand from `nckubelet exec` counts as an exec process.
 */
import { sleep } from "../../lib/sleep.ts";
import { scanProcesses } from "../process-table.ts";
import { execMarker, readVariables } from "../processes.ts";

const maxChecks = 3;
const betweenChecksMs = 20;

export interface EndedScript {
  runId: string;
  leaf?: string;
  /** The script's own process, which has ended, too. */
  main?: number;
  /** A process that was found to be the app's own before: while it lives, no other has to be checked. */
  survivor?: number;
  /** Lists the run's processes again. */
  list: () => Promise<number[]>;
}

/** Returns one process of the app's own, none if all are exec processes, or in doubt all that may be its own. */
export async function withoutExecProcesses(listed: number[], run: EndedScript): Promise<number[]> {
  if (listed.length === 0) return [];
  let pids = listed;
  for (let check = 1; check <= maxChecks; check++) {
    const found = await findOwn(inOrder(pids, run), run.runId, check > 1);
    if (typeof found === "number") return [found];
    if (found === "only exec" && check > 1) return [];
    await sleep(betweenChecksMs);
    pids = await listAll(run);
  }
  return pids.filter((pid) => pid !== run.main);
}

/** The known survivor comes first, then the oldest process; see status-pid.ts. */
function inOrder(pids: number[], { main, survivor }: EndedScript): number[] {
  const rank = (pid: number) => pid === survivor ? 0 : pid;
  return pids.filter((pid) => pid !== main).sort((a, b) => rank(a) - rank(b));
}

/** A list without cgroups may be incomplete: enough to know that a process lives, not that none does. */
async function listAll({ runId, leaf, list }: EndedScript): Promise<number[]> {
  const marked = (await scanProcesses()).membersOf({ runId, leaf });
  return [...new Set([...await list(), ...marked.map(({ pid }) => pid)])];
}

/** Returns the first process that is not an exec process, else "unclear" if a listed one has ended: it may have left a child. */
async function findOwn(
  pids: number[],
  runId: string,
  isSure: boolean,
): Promise<number | "only exec" | "unclear"> {
  let answer: "only exec" | "unclear" = "only exec";
  for (const pid of pids) {
    const variables = await readVariables(pid, [execMarker]);
    // A process in the middle of an execve shows no environment; one that was started without any never does.
    if (variables === undefined || (variables.isEmpty && !isSure)) answer = "unclear";
    else if (variables.values[execMarker] !== runId) return pid;
  }
  return answer;
}
