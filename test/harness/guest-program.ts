/** The program as guests run it. */
import { mkdir } from "node:fs/promises";
import { compileCache, putProgram } from "../../tools/test/program.ts";

/** Puts `nckubelet`, called like the executable, and its bundle into a folder that a guest gets as its share. */
export async function putGuestProgram(share: string): Promise<void> {
  await mkdir(share, { recursive: true });
  await putProgram(share, { bundle: "${0%/*}/nckubelet.cjs", compileCache });
}
