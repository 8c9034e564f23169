/** Choices that are the same for the same seed. */
import { seededRandom } from "../../../src/scheduler/place/choose-node.ts";

export interface Random {
  /** An integer from `least` to `most`, inclusive. */
  integer(least: number, most: number): number;
  pick<T>(list: readonly T[]): T;
  /** A new list in another order. */
  shuffle<T>(list: readonly T[]): T[];
}

/** Creates a random source. */
export function createRandom(seed: number): Random {
  const next = seededRandom(seed);
  const integer = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    integer,
    pick(list) {
      if (list.length === 0) throw new Error("cannot pick from an empty list");
      return list[integer(0, list.length - 1)]!;
    },
    shuffle(list) {
      const order = [...list];
      for (let last = order.length - 1; last > 0; last--) {
        const other = integer(0, last);
        [order[last], order[other]] = [order[other]!, order[last]!];
      }
      return order;
    },
  };
}

/** Derives a seed for a part of the work, so that its choices do not depend on those of other parts. */
export function deriveSeed(seed: number, ...parts: (string | number)[]): number {
  let hash = 0x811c9dc5 ^ seed;
  for (const character of parts.join(" ")) {
    hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  }
  return hash >>> 0;
}
