import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import type { Member } from "../member.ts";
import type { Random } from "../../../random.ts";
import type { World } from "../world.ts";

/** `kill -9`, and a restart after up to four seconds. */
export const kills: Fault[] = [
  killing("agent", 3, (world, random) => random.pick(world.nodes).agent),
  killing("scheduler", 2, (world, random) => random.pick(world.schedulers).member),
  killing("API server", 1, (world) => world.apiServer),
  killing("etcd", 1, (world) => world.etcd),
];

function killing(what: string, weight: number, choose: (world: World, random: Random) => Member): Fault {
  return {
    name: `kill -9 ${what}`,
    weight,
    async run({ world }, random, tell) {
      const member = choose(world, random);
      const downMs = random.integer(0, 4000);
      tell(`kill -9 ${member.name}, down for ${downMs} ms`);
      await member.kill(async () => void await pause(downMs));
    },
  };
}
