import type { Fault } from "../fault.ts";
import type { Member } from "../member.ts";
import type { Random } from "../../../random.ts";
import type { World } from "../world.ts";

/** SIGSTOP, and SIGCONT after up to eight seconds: the program exists, and does not answer. */
export const freezes: Fault[] = [
  freezing("agent", 2, (world, random) => random.pick(world.nodes).agent),
  freezing("scheduler", 1, (world, random) => random.pick(world.schedulers).member),
  freezing("API server", 1, (world) => world.apiServer),
  freezing("etcd", 1, (world) => world.etcd),
];

function freezing(what: string, weight: number, choose: (world: World, random: Random) => Member): Fault {
  return {
    name: `SIGSTOP ${what}`,
    weight,
    async run({ world }, random, tell) {
      const member = choose(world, random);
      const ms = random.integer(1000, 8000);
      tell(`SIGSTOP ${member.name} for ${ms} ms`);
      await member.freeze(ms);
    },
  };
}
