/**
 * Fuzzes every parser that reads untrusted bytes.
 *
 * Usage: node test/fuzz/run.ts [--cases 100000] [--seed N] [--only NAME] [--case N] [--jobs 2] [--no-keep] [--list]
 *   --only NAME   the target with this name, or those whose names contain it
 *   --case N      only this case, to reproduce it
 *   --no-keep     print findings only
 *   --list        list the targets and what they call
 *
 * A finding is printed with its seed, number and input, and stored in test/fuzz/found, from where the unit tests replay it. Runs
 * on Node: a case that never ends is terminated with its thread.
 */
import { Buffer } from "node:buffer";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { skipUnless } from "../harness/parts.ts";
import { makeInput, type Target } from "./engine.ts";
import { type Finding, keepFinding } from "./found.ts";
import { targets } from "./targets.ts";
import type { Done, Work } from "./worker.ts";

/** A case that takes longer hangs: the slowest valid case takes a second on a busy machine. */
const hangMs = 15_000;
/** Bounded caches may fill; a leak grows by more. */
const mostGrownBytes = 24 << 20;
/** Shrinking takes time, and a few findings are enough. */
const mostHangs = 3;
/** The workers by the number of their job. They stay for the next target: loading modules takes longer than thousands of cases. */
const workers = new Map<number, Worker>();

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: "100000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    only: { type: "string", default: "" },
    case: { type: "string" },
    jobs: { type: "string", default: "2" },
    keep: { type: "boolean", default: true },
    list: { type: "boolean", default: false },
  },
  allowNegative: true,
});
process.exitCode = values.list ? list() : await main();

function list(): number {
  for (const { name, covers, samples } of targets) {
    console.log(`${name.padEnd(18)} ${String(samples.length).padStart(3)} samples  ${covers.join(", ")}`);
  }
  return 0;
}

async function main(): Promise<number> {
  const seed = Number(values.seed);
  const exact = targets.filter(({ name }) => name === values.only);
  const chosen = exact.length > 0 ? exact : targets.filter(({ name }) => name.includes(values.only));
  if (chosen.length === 0) throw new Error(`no target has ${JSON.stringify(values.only)} in its name`);
  console.log(`seed ${seed}, ${chosen.length} targets`);
  let found = 0;
  for (const target of chosen) {
    const missing = target.needs && skipUnless(target.needs);
    if (missing) console.log(`skip  ${target.name.padEnd(18)} ${missing}`);
    else found += await fuzz(target, seed);
  }
  for (const worker of workers.values()) await worker.terminate();
  console.log(found === 0 ? "nothing found" : `${found} found; seed ${seed}`);
  return found === 0 ? 0 : 1;
}

async function fuzz(target: Target, seed: number): Promise<number> {
  const [from, to] = values.case === undefined
    ? [0, Number(values.cases)]
    : [Number(values.case), Number(values.case) + 1];
  const began = performance.now();
  const share = Math.ceil((to - from) / Number(values.jobs));
  const parts = Array.from({ length: Math.ceil((to - from) / share) }, (_, at) => from + at * share);
  const outcomes = await Promise.all(
    parts.map((start, job) => fuzzPart(job, target, seed, start, Math.min(to, start + share))),
  );
  const findings = outcomes.flatMap(({ findings }) => findings);
  const cpuMs = outcomes.reduce((sum, outcome) => sum + outcome.cpuMs, 0);
  const [seconds, each] = [(performance.now() - began) / 1000, cpuMs / (to - from) * 1000];
  const rate = `${to - from} cases, ${seconds.toFixed(1)} s, ${each.toFixed(0)} µs of CPU each`;
  console.log(`${findings.length === 0 ? "ok   " : "FOUND"} ${target.name.padEnd(18)} ${rate}`);
  for (const finding of findings) report(finding);
  return findings.length;
}

/** Runs cases `from` to `to`; if a case ends a worker, another continues after that case. */
async function fuzzPart(job: number, target: Target, seed: number, from: number, to: number) {
  const findings: Finding[] = [];
  for (let next = from; next < to && findings.length < mostHangs;) {
    const outcome = await runWorker(job, { target: target.name, seed, from: next, to });
    if (!("diedAt" in outcome)) {
      const { grownBytes, cpuMs } = outcome;
      if (to - next > 1000 && grownBytes > mostGrownBytes) {
        const problem = `${grownBytes >> 20} MB more live memory over ${to - next} cases`;
        findings.push({ target: target.name, seed, number: next, problem, input: new Uint8Array() });
      }
      return { findings: [...findings, ...outcome.findings], cpuMs };
    }
    const { diedAt: number, how: problem } = outcome;
    findings.push({ target: target.name, seed, number, problem, input: makeInput(target, seed, number) });
    next = number + 1;
  }
  return { findings, cpuMs: 0 };
}

function report(finding: Finding): void {
  const { target, seed, number, problem, input } = finding;
  const text = Buffer.from(input).toString("base64");
  console.log(`  --only ${target} --seed ${seed} --case ${number}: ${problem}`);
  console.log(`  input (${input.length} bytes): ${text.length > 2000 ? `${text.slice(0, 2000)}…` : text}`);
  if (values.keep) console.log(`  kept in ${keepFinding(finding)}`);
}

type Outcome = Done | { diedAt: number; how: string };

function runWorker(job: number, work: Omit<Work, "current">): Promise<Outcome> {
  const current = new Int32Array(new SharedArrayBuffer(4)).fill(work.from - 1);
  const worker = workers.get(job) ?? new Worker(new URL("./worker.ts", import.meta.url));
  workers.set(job, worker);
  return new Promise((resolve) => {
    let seen = { number: -1, since: performance.now() };
    const watchdog = setInterval(() => {
      const number = Atomics.load(current, 0);
      // Its modules are being loaded, which is slow on a busy machine, and no case.
      if (number < work.from) return;
      if (number !== seen.number) seen = { number, since: performance.now() };
      else if (performance.now() - seen.since > hangMs) void die(`does not end in ${hangMs} ms`);
    }, 250);
    const end = (outcome: Outcome) => {
      clearInterval(watchdog);
      worker.off("message", end).off("error", fail);
      resolve(outcome);
    };
    const die = async (how: string) => {
      workers.delete(job);
      await worker.terminate();
      end({ diedAt: Math.max(work.from, Atomics.load(current, 0)), how });
    };
    const fail = (error: unknown) => die(`ended its thread: ${(error as Error).stack}`);
    worker.on("message", end).on("error", fail);
    worker.postMessage({ ...work, current });
  });
}
