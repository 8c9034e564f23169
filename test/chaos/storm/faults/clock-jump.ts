import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";

const minuteMs = 60_000;
const jumps = [-26 * 60, -61, -5, -1, 1, 5, 61, 26 * 60].map((minutes) => minutes * minuteMs);

/** Sets the clock of an agent or a scheduler forward or back, and later corrects it. */
export const clockJump: Fault = {
  name: "clock jump",
  weight: 2,
  async run({ world }, random, tell) {
    const { nodes, schedulers } = world;
    const clocks = [...nodes.map(({ agent, clock }) => ({ member: agent, clock })), ...schedulers];
    const { member, clock } = random.pick(clocks);
    const offsetMs = random.pick(jumps);
    const ms = random.integer(2000, 9000);
    tell(`the clock of ${member.name} is set by ${offsetMs / minuteMs} minutes for ${ms} ms`);
    await clock.set(member, offsetMs);
    await pause(ms);
    await clock.set(member, 0);
  },
};
