/** Damages files as power cuts and worn disks do. */
import { writeFile } from "node:fs/promises";
import type { Random } from "../random.ts";

/** Writes the content torn, empty or with a flipped bit. */
export async function writeDamaged(path: string, whole: Uint8Array, random: Random): Promise<void> {
  const content = Uint8Array.from(whole);
  const at = random.below(content.length);
  const kind = random.below(4);
  if (kind === 0) return await writeFile(path, "");
  if (kind === 1) return await writeFile(path, content.subarray(0, at));
  // File systems return zeros for blocks that never reached the disk.
  if (kind === 2) content.fill(0, at);
  else content[at]! ^= 1 << random.below(8);
  await writeFile(path, content);
}
