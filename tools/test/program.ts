/**
 * The program as tests run it: one file, compiled once. Starting it from source takes four times the CPU time, and tests start it
 * hundreds of times.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleProgram } from "../build/bundle.ts";
import { compileLauncher } from "../build/launcher.ts";
import { hostArchitecture } from "../build/node-binary.ts";
import { checkout } from "../checkout.ts";

/** The compile cache that processes share. */
export const compileCache = join(checkout, "node_modules/.cache/compile");

const folder = join(checkout, "dist/test/program");

/** Called like the executable. */
export const programPath = join(folder, "nckubelet");

/** Rebuilds it from the source. */
export async function makeProgram(): Promise<void> {
  await mkdir(folder, { recursive: true });
  await putProgram(folder, {
    bundle: join(folder, "nckubelet.cjs"),
    compileCache,
  });
}

/** Puts `nckubelet` and its bundle into a folder; `bundle` is the bundle's path at run time, as a shell expression. */
export async function putProgram(
  folder: string,
  { bundle, compileCache }: { bundle: string; compileCache: string },
): Promise<void> {
  await bundleProgram(join(checkout, "src/main.ts"), join(folder, "nckubelet.cjs"));
  await compileLauncher(hostArchitecture(), join(folder, `launcher-${hostArchitecture()}`));
  // It behaves by the name it is called with, like the executable.
  const script = `#!/bin/bash
export NODE_COMPILE_CACHE='${compileCache}'
exec -a "$0" '${join(checkout, "node_modules/.bin/node")}' "${bundle}" "$@"
`;
  await writeFile(join(folder, "nckubelet"), script, { mode: 0o755 });
}
