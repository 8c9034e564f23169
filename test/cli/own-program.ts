import process from "node:process";
import { fileURLToPath } from "node:url";

/** Runs a file with the runtime of the test. */
export const runtime: readonly string[] = "deno" in process.versions
  ? [process.execPath, "run", "--allow-all", "--no-check", "--quiet"]
  : [process.execPath];

/** How to call the program: the executable that NCKUBELET_BIN names, or the source with the runtime of the test. */
export const program: readonly string[] = process.env.NCKUBELET_BIN
  ? [process.env.NCKUBELET_BIN]
  : [...runtime, fileURLToPath(new URL("../../src/main.ts", import.meta.url))];
