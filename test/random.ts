/**
 * Choices that are the same for the same seed: for fuzzers and storms, which change what they find as they go on. What decides
 * without effects is tested by properties, which also shrink a failure: see properties.ts.
 */
export interface Random {
  /** An integer from 0 up to, but not including, `count`; 0 if that is 0. */
  below(count: number): number;
  /** An integer from `least` to `most`, inclusive. */
  integer(least: number, most: number): number;
  /** True with a probability of 1 in `n`. */
  oneIn(n: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** A new list in another order. */
  shuffle<T>(list: readonly T[]): T[];
}

/** Creates a random source. */
export function createRandom(seed: number): Random {
  const next = seededRandom(seed);
  const below = (count: number) => Math.floor(next() * count);
  return {
    below,
    integer: (least, most) => least + below(most - least + 1),
    oneIn: (n) => below(n) === 0,
    pick(list) {
      if (list.length === 0) throw new Error("cannot pick from an empty list");
      return list[below(list.length)]!;
    },
    shuffle(list) {
      const order = [...list];
      for (let last = order.length - 1; last > 0; last--) {
        const other = below(last + 1);
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

/** Returns a generator of random numbers from 0 to 1 that depend on the seed alone (mulberry32) */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
