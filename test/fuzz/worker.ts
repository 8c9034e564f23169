/**
 * Runs parts of the targets' cases in a separate thread, one after the other. Before each case it stores the case number where the
 * main thread sees it, so that a case that never ends is known by its number when the thread is terminated.
 */
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort } from "node:worker_threads";
import { useDirectFiles } from "./direct-files.ts";
import { makeInput, runCase } from "./engine.ts";
import type { Finding } from "./found.ts";
import { shrink } from "./shrink.ts";
import { targetNamed } from "./targets.ts";

/** The input of a worker. */
export interface Work {
  target: string;
  seed: number;
  from: number;
  to: number;
  /** One element: the number of the current case. */
  current: Int32Array;
}

/** The result of a worker. */
export interface Done {
  findings: Finding[];
  /** Growth of live memory between the first tenth of the cases and the end. */
  grownBytes: number;
  cpuMs: number;
}

/** A few examples of each kind of problem are enough. */
const mostFindings = 20;

const port = parentPort;
if (port) {
  useDirectFiles();
  port.on("message", async (part: Work) => port.postMessage(await work(part)));
}

async function work({ target: name, seed, from, to, current }: Work): Promise<Done> {
  const target = targetNamed(name);
  const session = await target.open();
  const findings: Finding[] = [];
  const kinds = new Set<string>();
  const begin = cpuMs();
  let before = 0;
  for (let number = from; number < to && findings.length < mostFindings; number++) {
    Atomics.store(current, 0, number);
    if (number === from + Math.floor((to - from) / 10)) before = liveBytes();
    const input = makeInput(target, seed, number);
    const problem = await runCase(target, session, input, cpuMs);
    if (problem === undefined || kinds.has(kindOf(problem))) continue;
    kinds.add(kindOf(problem));
    const isSame = async (smaller: Uint8Array) => {
      const again = await runCase(target, session, smaller, cpuMs);
      return again !== undefined && kindOf(again) === kindOf(problem);
    };
    // A slow case would be slow again in each attempt.
    const smallest = problem.startsWith("took") ? input : await shrink(input, isSame);
    findings.push({ target: name, problem, seed, number, input: smallest });
  }
  const grownBytes = before === 0 ? 0 : liveBytes() - before;
  await session.close?.();
  return { findings, grownBytes, cpuMs: cpuMs() - begin };
}

/** Problems that differ only in numbers and quotes are the same, and so are all throws of one line of a parser. */
function kindOf(problem: string): string {
  const [first = "", thrownAt] = problem.split("\n");
  const what = thrownAt === undefined ? first : `${first.split(":")[0]} ${thrownAt}`;
  return what.replaceAll(/"(?:[^"\\]|\\.)*"?|\{.*|[\d.]+/g, "#").slice(0, 120);
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function liveBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}
