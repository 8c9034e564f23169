/**
 * Runs a part of a target's cases in a thread of its own. Before each case its number is put where the main thread sees it, so that
 * one which never ends is known by its number when the thread is ended.
 */
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { useDirectFiles } from "./direct-files.ts";
import { makeInput, runCase } from "./engine.ts";
import type { Finding } from "./found.ts";
import { shrink } from "./shrink.ts";
import { targetNamed } from "./targets.ts";

/** What a worker is given. */
export interface Work {
  target: string;
  seed: number;
  from: number;
  to: number;
  /** One place, for the number of the case that is under way. */
  current: Int32Array;
}

/** What it says when it is done. */
export interface Done {
  findings: Finding[];
  /** Of live memory between the first tenth of the cases and the end. */
  grownBytes: number;
  cpuMs: number;
}

/** Of one kind of trouble a few examples are enough. */
const mostFindings = 20;

if (parentPort) parentPort.postMessage(await work(workerData as Work));

async function work({ target: name, seed, from, to, current }: Work): Promise<Done> {
  useDirectFiles();
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
    // A slow one would take its time again for each try.
    const smallest = problem.startsWith("took") ? input : await shrink(input, isSame);
    findings.push({ target: name, problem, seed, number, input: smallest });
  }
  const grownBytes = before === 0 ? 0 : liveBytes() - before;
  await session.close?.();
  return { findings, grownBytes, cpuMs: cpuMs() - begin };
}

/** Troubles that differ in their figures and quotes only are the same, and so is all that one line of a parser throws. */
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
