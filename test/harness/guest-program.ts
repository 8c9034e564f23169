/** The program as guests run it. */
import { mkdir } from "node:fs/promises";
import { putProgram } from "../../tools/test/program.ts";

/** Puts `nckubelet`, to be called as the executable is, and what it needs into a folder that a guest gets as its share. */
export async function putGuestProgram(share: string): Promise<void> {
  await mkdir(share, { recursive: true });
  // The cache is the guest's own: the first start fills it.
  await putProgram(share, {
    bundle: "${0%/*}/nckubelet.cjs",
    compileCache: "/var/tmp/nckubelet-compile-cache",
  });
}
