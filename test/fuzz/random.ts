/** Random choices that depend only on the seed, so that a case can be repeated by its number. */
export interface Random {
  /** An integer from 0 up to, but not including, `count`. */
  below(count: number): number;
  pick<T>(list: readonly T[]): T;
  /** True with a probability of 1 in `n`. */
  oneIn(n: number): boolean;
}

/** Creates the random source of one case; any text is a seed. */
export function createRandom(seed: string): Random {
  let state = hash(seed);
  // mulberry32: one multiplication more than needed for a fuzzer, and no pattern that would hide a case.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (count: number) => count <= 1 ? 0 : Math.floor(next() / 2 ** 32 * count);
  return {
    below,
    pick(list) {
      if (list.length === 0) throw new Error("nothing to pick from");
      return list[below(list.length)]!;
    },
    oneIn: (n) => below(n) === 0,
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
