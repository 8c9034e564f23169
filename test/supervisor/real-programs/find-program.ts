import { execFileSync } from "node:child_process";
import { cleanPath } from "../../../src/lib/shell.ts";

/** Reports whether the environment of apps has this program. */
export function findProgram(name: string): boolean {
  try {
    execFileSync("/bin/sh", ["-c", `command -v ${name}`], { env: { PATH: cleanPath } });
    return true;
  } catch {
    return false;
  }
}
