/**
 * One pass over 1,000 cgroups, inside of a guest: their figures, and their limits when there is nothing to do. Prints the median
 * milliseconds of each as JSON. `CGROUP_ROOT` names the delegated cgroup to work in.
 */
import { performance } from "node:perf_hooks";
import process from "node:process";
import {
  ensureLimits,
  type Limit,
  limitsFor,
  locateRoot,
  openCgroup,
  readStats,
  removeTree,
} from "../cgroups/mod.ts";
import { median } from "./statistics.ts";

const count = Number(process.argv[2] ?? 1000);
const rounds = 3;

const found = await locateRoot({ override: process.env["CGROUP_ROOT"] });
if (!found.ok) throw new Error(found.message);
const limits = limitsFor({ cpuPCT: 10, memPCT: 10, pidsMax: 100 }, { cpus: 1, memoryBytes: 2 ** 30 });
const dirs = Array.from({ length: count }, (_, at) => openCgroup(found.root, `bench_${at}`));
try {
  await ensureAll(dirs, limits);
  const statsMs = await measure(async () => dirs.forEach((dir) => readStats(dir)));
  const limitsMs = await measure(() => ensureAll(dirs, limits));
  console.log(JSON.stringify({ statsMs, limitsMs }));
} finally {
  for (const dir of dirs) await removeTree(dir);
}

async function ensureAll(dirs: string[], limits: Limit[]): Promise<void> {
  for (const dir of dirs) await ensureLimits(dir, limits);
}

async function measure(pass: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    await pass();
    times.push(performance.now() - start);
  }
  return median(times);
}
