import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";

/** The variable that marks every process of a test run, through all who inherit an environment. */
export const runMark = "NCKUBELET_TEST_RUN";

/** A process that a test run left behind. */
export interface Leftover {
  pid: number;
  command: string;
}

/** The processes that carry the mark of this run. Those who end while this looks are not among them. */
export function findLeftovers(run: string, proc = "/proc"): Leftover[] {
  const found: Leftover[] = [];
  for (const name of readdirSync(proc).filter((name) => /^\d+$/.test(name))) {
    try {
      const environment = readFileSync(`${proc}/${name}/environ`, "latin1").split("\0");
      if (Number(name) === process.pid || !environment.includes(`${runMark}=${run}`)) continue;
      const command = readFileSync(`${proc}/${name}/cmdline`, "latin1").split("\0").join(" ").trim();
      found.push({ pid: Number(name), command });
    } catch {
      // It is gone, or it is not ours.
    }
  }
  return found;
}
