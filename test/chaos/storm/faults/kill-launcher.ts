import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { readStat } from "../../../../src/supervisor/processes.ts";
import type { Fault } from "../fault.ts";
import { findLive } from "../live.ts";

/** `kill -9` of what stands between agents and apps. */
export const launcherKills: Fault[] = [
  {
    name: "kill -9 zygote",
    weight: 2,
    async run({ world }, random, tell) {
      const { agent } = random.pick(world.nodes);
      tell(`kill -9 the zygote of ${agent.name}`);
      const found = await processesWith((words) => words[0] === "nckubelet-zygote");
      killAll(found.filter((pid) => agent.pid !== undefined && readStat(pid)?.parent === agent.pid));
    },
  },
  {
    name: "kill -9 launcher",
    weight: 2,
    async run({ workload, stormId }, random, tell) {
      await workload.inTurn(async () => {
        const app = random.pick(workload.list());
        tell(`kill -9 the launchers of ${app.name}`);
        // The exit status of its runs is lost with them; nothing else may be.
        app.excused = "its launcher was killed";
        const live = (await findLive(stormId)).filter(({ uid }) => uid === app.uid);
        const marks = new Set(live.map(({ run }) => `/marks/${run}`));
        const names = (word: string) => marks.has(word.slice(word.lastIndexOf("/marks/")));
        killAll(await processesWith((words) => words.some(names)));
      });
    },
  },
];

/** The processes whose argument list is accepted. */
async function processesWith(isOne: (words: string[]) => boolean): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return pids.filter((_, index) => isOne(lines[index]!.split("\0")));
}

function killAll(pids: number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended meanwhile.
    }
  }
}
