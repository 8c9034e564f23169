import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { ask } from "../ledger.ts";
import { readRecords } from "../records.ts";

/** Where OpenRC says that the machine goes down. The storm has a /run of its own. */
const openrc = "/run/openrc";

/** An orderly shutdown: the agent gets SIGTERM while the machine goes down, stops its apps, and starts them again after the boot. */
export const shutdown: Fault = {
  name: "orderly shutdown",
  weight: 1,
  impossible: ({ nodes }) => nodes[0]?.disks ? undefined : "cannot mount a /run of its own here",
  async run({ world, workload }, random, tell) {
    const { agent, name, stateDir } = random.pick(world.nodes);
    const downMs = random.integer(0, 3000);
    await workload.inTurn(async () => {
      tell(`${name} shuts down in order, and is down for ${downMs} ms`);
      await mkdir(openrc, { recursive: true });
      await writeFile(`${openrc}/softlevel`, "shutdown\n");
      await agent.kill(async () => {
        // By its records: until it stops its apps, the agent starts again what has ended.
        const stopped = (await readRecords(join(stateDir, "apps"))).filter(({ run, lastExit }) =>
          run || lastExit?.reason === "NodeRebooted"
        );
        const here = new Set(stopped.map(({ app }) => app.metadata.uid));
        for (const app of workload.list()) if (here.has(app.uid)) ask(app, "shutdown");
        await rm(openrc, { recursive: true });
        await pause(downMs);
      }, "SIGTERM");
    });
  },
};
