import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { findLive } from "../live.ts";
import { renamed } from "../node.ts";

/**
 * The host name of a node changes, and later changes back: its apps do not notice. Only with apps: an agent without any accepts
 * another name.
 */
export const nodeRenamed: Fault = {
  name: "node renamed",
  weight: 1,
  async run({ world, workload, stormId }, random, tell) {
    const { agent, name, rename } = random.pick(world.nodes);
    const ms = random.integer(2000, 9000);
    await workload.inTurn(async () => {
      const wanted = new Set(workload.list().map(({ uid }) => uid));
      const here = (await findLive(stormId)).filter(({ node, uid }) => node === name && wanted.has(uid));
      if (here.length === 0) return tell(`${name} is not renamed: it has no apps`);
      tell(`kill -9 ${agent.name}; it starts as ${renamed(name)} for ${ms} ms`);
      await agent.kill(async () => rename(renamed(name)));
      await pause(ms);
      await agent.kill(async () => rename(name));
    });
  },
};
