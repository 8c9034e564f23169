import process from "node:process";
import type { Fault, Storm } from "../fault.ts";
import { ask, type StormApp } from "../ledger.ts";
import { findLive } from "../live.ts";

/** `kill -9` of every process of an app at once, as an operator or the kernel may do. */
export const killApp: Fault = {
  name: "kill -9 an app",
  weight: 2,
  async run(storm, random, tell) {
    await storm.workload.inTurn(async () => {
      const app = random.pick(storm.workload.list("ticker", "writer", "daemon", "brood", "port"));
      tell(`kill -9 ${app.name}`);
      await killProcesses(storm, app);
    });
  },
};

export async function killProcesses({ stormId }: Storm, app: StormApp): Promise<void> {
  const processes = (await findLive(stormId)).filter(({ uid }) => uid === app.uid);
  if (processes.length > 0) ask(app, "kill");
  for (const { pid } of processes) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended meanwhile.
    }
  }
}
