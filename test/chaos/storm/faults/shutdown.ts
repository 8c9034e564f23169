import { mkdir, rm, writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { ask } from "../ledger.ts";
import { findLive } from "../live.ts";

/** Where OpenRC says that the machine goes down. The storm has a /run of its own. */
const openrc = "/run/openrc";

/** An orderly shutdown: the agent gets SIGTERM while the machine goes down, stops its apps, and starts them again after the boot. */
export const shutdown: Fault = {
  name: "orderly shutdown",
  weight: 1,
  impossible: ({ nodes }) => nodes[0]?.disks ? undefined : "cannot mount a /run of its own here",
  async run({ world, workload, stormId }, random, tell) {
    const { agent, name } = random.pick(world.nodes);
    const downMs = random.integer(0, 3000);
    await workload.inTurn(async () => {
      tell(`${name} shuts down in order, and is down for ${downMs} ms`);
      const here = new Set(
        (await findLive(stormId)).filter(({ node }) => node === name).map(({ uid }) => uid),
      );
      for (const app of workload.list()) if (here.has(app.uid)) ask(app, "shutdown");
      await mkdir(openrc, { recursive: true });
      await writeFile(`${openrc}/softlevel`, "shutdown\n");
      await agent.kill(async () => {
        await rm(openrc, { recursive: true });
        await pause(downMs);
      }, "SIGTERM");
    });
  },
};
