/**
 * The program as guests run it: one file, compiled once. From its source every start costs User-Mode Linux seconds more.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleProgram } from "../../tools/build/bundle.ts";
import { checkout } from "./parts.ts";

/** Puts `nckubelet`, to be called as the executable is, and what it needs into a folder that a guest gets as its share. */
export async function putGuestProgram(share: string): Promise<void> {
  await mkdir(share, { recursive: true });
  await bundleProgram(join(checkout, "src/main.ts"), join(share, "nckubelet.cjs"));
  const node = join(checkout, "node_modules/.bin/node");
  // The cache is the guest's own: the first start fills it.
  const script = `#!/bin/sh
export NODE_COMPILE_CACHE=/var/tmp/nckubelet-compile-cache
exec '${node}' "\${0%/*}/nckubelet.cjs" "$@"
`;
  await writeFile(join(share, "nckubelet"), script, { mode: 0o755 });
}
