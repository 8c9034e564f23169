import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";

/** The agent starts while both of its disks are full. */
export const fullAtStart: Fault = {
  name: "disks full at start",
  weight: 1,
  impossible: ({ nodes }) => nodes[0]?.disks ? undefined : "cannot mount file systems here",
  async run({ world, filledLogs }, random, tell) {
    const { agent, name, disks } = random.pick(world.nodes);
    const ms = random.integer(1000, 6000);
    tell(`kill -9 ${agent.name}; it starts with full disks, which are freed after ${ms} ms`);
    filledLogs.add(name);
    try {
      await agent.kill(async () => void await Promise.all([disks?.state.fill(), disks?.logs.fill()]));
      await pause(ms);
    } finally {
      await Promise.all([disks?.state.free(), disks?.logs.free()]);
    }
  },
};

/** Fills the disk of the agent's state or of the apps' logs. */
export const fullDisks: Fault[] = [filling("state"), filling("logs")];

function filling(which: "state" | "logs"): Fault {
  return {
    name: `disk full: ${which}`,
    weight: 1,
    impossible: ({ nodes }) => nodes[0]?.disks ? undefined : "cannot mount file systems here",
    async run({ world, filledLogs }, random, tell) {
      const node = random.pick(world.nodes);
      const ms = random.integer(2000, 9000);
      tell(`the disk of the ${which} of ${node.name} is full for ${ms} ms`);
      if (which === "logs") filledLogs.add(node.name);
      await node.disks?.[which].fill();
      await pause(ms);
      await node.disks?.[which].free();
    },
  };
}
