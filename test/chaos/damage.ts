/** Damages files as power cuts and worn disks do. */
import { writeFile } from "node:fs/promises";

/** Writes the content torn, empty or with a flipped bit. */
export async function writeDamaged(path: string, whole: Uint8Array, random: Random): Promise<void> {
  const content = Uint8Array.from(whole);
  const at = random(content.length);
  const kind = random(4);
  if (kind === 0) return await writeFile(path, "");
  if (kind === 1) return await writeFile(path, content.subarray(0, at));
  // File systems return zeros for blocks that never reached the disk.
  if (kind === 2) content.fill(0, at);
  else content[at]! ^= 1 << random(8);
  await writeFile(path, content);
}

/** Returns a number from 0 up to, but not including, `below`. */
export type Random = (below: number) => number;

/** The same numbers in every run. */
export function createRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    // The low bits of such a generator hardly change.
    return Math.floor(state / 2 ** 32 * below);
  };
}
