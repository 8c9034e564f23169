/**
 * The program as tests run it: one file, compiled once. From its source every start takes four times as much of the CPU, and tests
 * start it some hundred times.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleProgram } from "../build/bundle.ts";
import { checkout } from "../checkout.ts";

/** Where what was compiled is kept for the next process that needs it. */
export const compileCache = join(checkout, "node_modules/.cache/compile");

const folder = join(checkout, "dist/test/program");

/** Called as the executable is. */
export const programPath = join(folder, "nckubelet");

/** Makes it anew from the source. */
export async function makeProgram(): Promise<void> {
  await mkdir(folder, { recursive: true });
  await putProgram(folder, {
    bundle: join(folder, "nckubelet.cjs"),
    compileCache,
  });
}

/** Puts `nckubelet` and its bundle into a folder; `bundle` is where it will be found, which a shell may have to work out. */
export async function putProgram(
  folder: string,
  { bundle, compileCache }: { bundle: string; compileCache: string },
): Promise<void> {
  await bundleProgram(join(checkout, "src/main.ts"), join(folder, "nckubelet.cjs"));
  // The name by which it is called tells it what it is, as it does the executable.
  const script = `#!/bin/bash
export NODE_COMPILE_CACHE='${compileCache}'
exec -a "$0" '${join(checkout, "node_modules/.bin/node")}' "${bundle}" "$@"
`;
  await writeFile(join(folder, "nckubelet"), script, { mode: 0o755 });
}
