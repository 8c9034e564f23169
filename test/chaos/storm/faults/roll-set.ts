import type { Fault } from "../fault.ts";

/** Rolls the set to another version, or back, also in the middle of a rollout. */
export const rollSet: Fault = {
  name: "roll a set",
  weight: 3,
  async run({ fleet }, random, tell) {
    const versions = Array.from({ length: random.integer(1, 2) }, () => String(random.integer(1, 3)));
    tell(`roll the set to version ${versions.join(", then ")}`);
    for (const version of versions) await fleet.roll(version);
  },
};
