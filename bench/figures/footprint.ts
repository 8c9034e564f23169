/**
 * The executable: its size, how fast it starts, and the memory of an agent without apps, beside the same program run from source by
 * Node and from the bundle by Deno.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { checkout } from "../../tools/checkout.ts";
import { must } from "../../tools/command.ts";
import { startStandaloneAgent } from "../../tools/standalone-agent.ts";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { readCost } from "../process-cost.ts";
import { median } from "../statistics.ts";

const runs = 15;
const requests = 2000;

export const footprint: Benchmark = {
  name: "footprint",
  about:
    "The executable: its size, the time of `nckubelet version`, and the memory of an agent without apps, beside the same program " +
    "run from source by Node and from the bundle by Deno.",
  needs: ["executable"],
  run: measure,
};

interface Print {
  sizeMB: number;
  versionMs: number;
  anonymousMB: number;
  laterMB: number;
}

async function measure({ executable, long, say }: Context): Promise<Figure[]> {
  const idleMs = long ? 30_000 : 7000;
  const bundle = join(checkout, "dist/nckubelet.cjs");
  const deno = join(checkout, "node_modules/.bin/deno");
  const programs: { name: string; command: string[]; files: string[] }[] = [
    { name: "executable", command: [executable], files: [executable] },
    {
      name: "Node, source",
      command: [process.execPath, join(checkout, "src/main.ts")],
      files: [process.execPath],
    },
    {
      name: "Deno, bundle",
      command: [deno, "run", "--allow-all", bundle],
      files: [join(checkout, "node_modules/deno/deno"), bundle],
    },
  ];
  const prints: { name: string; print: Print }[] = [];
  for (const { name, command, files } of programs) {
    say(name);
    const sizeMB = files.reduce((total, file) => total + statSync(file).size, 0) / 1e6;
    prints.push({
      name,
      print: { sizeMB, versionMs: await measureStart(command), ...await measureMemory(command, idleMs) },
    });
  }
  const [{ print: ours }, ...others] = prints as [typeof prints[0], ...typeof prints];
  return others.flatMap(({ name, print }): Figure[] => [
    {
      figure: "size of the program",
      ours: ours.sizeMB,
      unit: "MB",
      peer: { what: name, value: print.sizeMB },
    },
    {
      figure: "`nckubelet version`, whole run, median",
      ours: ours.versionMs,
      unit: "ms",
      asked: 150,
      peer: { what: name, value: print.versionMs },
    },
    {
      figure: "agent without apps, anonymous memory",
      ours: ours.anonymousMB,
      unit: "MB",
      asked: 22,
      peer: { what: name, value: print.anonymousMB },
    },
    {
      figure: `agent without apps after ${requests.toLocaleString("en")} requests, anonymous memory`,
      ours: ours.laterMB,
      unit: "MB",
      peer: { what: name, value: print.laterMB },
    },
  ]);
}

/** Returns the median time of a run of `version`, after a warm-up. */
async function measureStart([file = "", ...words]: string[]): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run <= runs; run++) {
    const start = performance.now();
    await must(file, [...words, "version"]);
    if (run > 0) times.push(performance.now() - start);
  }
  return median(times);
}

/** Measures an agent without apps when idle, and after some work. */
async function measureMemory(
  command: string[],
  idleMs: number,
): Promise<{ anonymousMB: number; laterMB: number }> {
  await using agent = await startStandaloneAgent(command);
  await pause(idleMs);
  const { anonymousMB } = readCost(agent.pid);
  for (let sent = 0; sent < requests; sent++) await (await fetch(`${agent.url}/healthz`)).text();
  await pause(idleMs);
  return { anonymousMB, laterMB: readCost(agent.pid).anonymousMB };
}
