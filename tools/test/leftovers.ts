import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";

/** The environment variable that marks every process of a test run. */
export const runMark = "NCKUBELET_TEST_RUN";

/** A process that a test run left behind. */
export interface Leftover {
  pid: number;
  command: string;
}

/** Returns the processes with the mark of this run, except those that end meanwhile. */
export function findLeftovers(run: string, proc = "/proc"): Leftover[] {
  const found: Leftover[] = [];
  for (const name of readdirSync(proc).filter((name) => /^\d+$/.test(name))) {
    try {
      const environment = readFileSync(`${proc}/${name}/environ`, "latin1").split("\0");
      if (Number(name) === process.pid || !environment.includes(`${runMark}=${run}`)) continue;
      const command = readFileSync(`${proc}/${name}/cmdline`, "latin1").split("\0").join(" ").trim();
      found.push({ pid: Number(name), command });
    } catch {
      // It has ended, or belongs to another user.
    }
  }
  return found;
}
