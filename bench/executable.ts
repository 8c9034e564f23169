/** The built program, which all figures about the agent are measured on. */
import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { checkout } from "../tools/checkout.ts";
import { must } from "../tools/command.ts";

/** Returns its path: NCKUBELET_BIN, else dist/nckubelet, built first if it is missing or older than its sources. */
export async function ensureExecutable(say: (text: string) => void): Promise<string> {
  const { NCKUBELET_BIN: named } = process.env;
  if (named) return named;
  const executable = join(checkout, "dist/nckubelet");
  if (changedAt(executable) < newestSource()) {
    say("building dist/nckubelet");
    await must(process.execPath, ["tools/build.ts"], { cwd: checkout });
  }
  return executable;
}

function newestSource(): number {
  const files = globSync(["src/**/*", "cgroups/**/*.ts", "tools/build/*.ts", "package.json"], {
    cwd: checkout,
  });
  return Math.max(...files.map((file) => changedAt(join(checkout, file))));
}

function changedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
