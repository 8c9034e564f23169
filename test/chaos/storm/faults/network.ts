import { setTimeout as pause } from "node:timers/promises";
import type { Listener } from "../listener.ts";
import type { Fault } from "../fault.ts";
import type { Random } from "../../../random.ts";
import type { World } from "../world.ts";

/** Cuts all connections once. */
export const cutConnections: Fault = {
  name: "cut connections",
  weight: 1,
  async run({ world }, random, tell) {
    const [name, listener] = choose(world, random);
    tell(`cut the connections of ${name}`);
    listener.cut();
  },
};

/** Cuts every connection, and refuses new ones for a while. */
export const closedWay: Fault = {
  name: "network down",
  weight: 2,
  async run({ world }, random, tell) {
    const [name, listener] = choose(world, random);
    const ms = random.integer(1000, 10_000);
    tell(`no way from ${name} to the API server for ${ms} ms`);
    listener.shut();
    await pause(ms);
    listener.open();
  },
};

/** Half-open connections: nothing arrives, and neither side notices. */
export const halfOpen: Fault = {
  name: "half-open connections",
  weight: 2,
  async run({ world }, random, tell) {
    const [name, listener] = choose(world, random);
    const ms = random.integer(1000, 10_000);
    const then = random.pick(["resume", "reset"] as const);
    tell(`silence between ${name} and the API server for ${ms} ms, then ${then}`);
    listener.silence();
    await pause(ms);
    listener.open(then);
  },
};

/** An API server that answers 429 to every request. */
export const tooManyRequests: Fault = {
  name: "429 storm",
  weight: 2,
  async run({ world }, random, tell) {
    const ms = random.integer(2000, 8000);
    tell(`429 to every request for ${ms} ms`);
    world.gateway.setBusy(true);
    await pause(ms);
    world.gateway.setBusy(false);
  },
};

function choose({ nodes, schedulers }: World, random: Random): [string, Listener] {
  return random.pick([
    ...nodes.map(({ name, listener }): [string, Listener] => [name, listener]),
    ...schedulers.map(({ member, listener }): [string, Listener] => [member.name, listener]),
  ]);
}
