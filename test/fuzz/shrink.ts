/** Returns a smaller input with the same problem: cuts out pieces as long as `isSame` holds. */
export async function shrink(
  input: Uint8Array,
  isSame: (input: Uint8Array) => Promise<boolean>,
  mostTries = 2000,
): Promise<Uint8Array> {
  let smallest = input;
  let tries = 0;
  for (let piece = input.length >> 1; piece >= 1; piece >>= 1) {
    for (let at = 0; at < smallest.length && tries < mostTries;) {
      tries++;
      const without = new Uint8Array(smallest.length - Math.min(piece, smallest.length - at));
      without.set(smallest.subarray(0, at));
      without.set(smallest.subarray(Math.min(smallest.length, at + piece)), at);
      if (await isSame(without)) smallest = without;
      else at += piece;
    }
  }
  return smallest;
}
