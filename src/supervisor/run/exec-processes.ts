/**
 * Tells the processes of an app from those of its visitors. Exec probes and `nckubelet exec` run in the app's own cgroup, but they are
 * no part of its life: an app whose own processes have ended is over, whoever is inside of it, and they end with the run.
 *
 * A visitor carries the id of the run in its environment, from before it enters, and so does whatever it starts.
 * Guarantees: no process counts as a visitor's but by that variable. That only visitors are left is said after a second look, at all
 * that the confinement and the markers know, in which no process had ended between the list and the look.
 * Caveats: what a visitor starts without its environment, or what writes over it, counts as the app's own. A service that somebody
 * starts by hand from inside is a visitor's.
 */
import { readFile } from "node:fs/promises";
import { errorCode } from "../../lib/files.ts";
import { sleep } from "../../lib/sleep.ts";
import { scanMarkers } from "../processes.ts";

/** The environment variable of visitors; its value is the id of the run. */
export const visitorMarker = "NCAPP_VISITOR";

const looks = 3;
const betweenLooksMs = 20;

/** A run whose script has ended. */
export interface EndedScript {
  runId: string;
  /** The script's own process, which has ended, too. */
  main?: number;
  /** A process that was the app's own before: if it lives, no other has to be looked at. */
  survivor?: number;
  /** Lists the run's processes once more. */
  list: () => Promise<number[]>;
}

/** One process of the app's own among those that were listed, or none where all are visitors'. In doubt, all that may be its own. */
export async function withoutVisitors(listed: number[], run: EndedScript): Promise<number[]> {
  if (listed.length === 0) return [];
  let pids = listed;
  for (let look = 1; look <= looks; look++) {
    const found = await findOwn(inOrder(pids, run), run.runId, look > 1);
    if (typeof found === "number") return [found];
    if (found === "visitors" && look > 1) return [];
    await sleep(betweenLooksMs);
    pids = await listAll(run);
  }
  return pids.filter((pid) => pid !== run.main);
}

/** What stands for the run comes first, then the oldest; see survivor.ts. */
function inOrder(pids: number[], { main, survivor }: EndedScript): number[] {
  const rank = (pid: number) => pid === survivor ? 0 : pid;
  return pids.filter((pid) => pid !== main).sort((one, other) => rank(one) - rank(other));
}

/** A list without cgroups may be of some processes only: enough to say that one lives, not to say that none does. */
async function listAll({ runId, list }: EndedScript): Promise<number[]> {
  const marked = (await scanMarkers()).get(runId) ?? [];
  return [...new Set([...await list(), ...marked.map(({ pid }) => pid)])];
}

/** The first process that is no visitor's. "unclear" if there is none, but one that was listed has ended: it may have left a child. */
async function findOwn(
  pids: number[],
  runId: string,
  isSure: boolean,
): Promise<number | "visitors" | "unclear"> {
  let answer: "visitors" | "unclear" = "visitors";
  for (const pid of pids) {
    const environment = await readEnvironment(pid);
    // A process that is just being executed shows no environment; one that was given none never does.
    if (environment === undefined || (environment === "" && !isSure)) answer = "unclear";
    else if (!environment.split("\0").includes(`${visitorMarker}=${runId}`)) return pid;
  }
  return answer;
}

/** Undefined for a process that has ended. What may not be read is without the variable, for all we know. */
async function readEnvironment(pid: number): Promise<string | undefined> {
  try {
    return await readFile(`/proc/${pid}/environ`, "utf8");
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    if (code === "EACCES" || code === "EPERM") return "unreadable";
    throw error;
  }
}
