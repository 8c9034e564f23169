import { execFileSync } from "node:child_process";
import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { checkout } from "./parts.ts";

/** Returns the path of `dist/nckubelet`, rebuilt if its sources changed. */
export function builtExecutable(): string {
  const path = join(checkout, "dist/nckubelet");
  const sources = globSync([
    "src/**/*.{ts,js,css,html}",
    "cgroups/**/*.ts",
    "launcher/*.c",
    "package-lock.json",
  ], {
    cwd: checkout,
  });
  const newest = Math.max(...sources.map((file) => changedAt(join(checkout, file))));
  if (changedAt(path) < newest) {
    execFileSync(process.execPath, ["tools/build.ts"], {
      cwd: checkout,
      stdio: ["ignore", "ignore", "inherit"],
    });
  }
  return path;
}

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
