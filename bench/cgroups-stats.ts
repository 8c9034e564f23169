/**
 * One pass over 1,000 cgroups: their figures, and their limits when there is nothing to do.
 *
 *     node bench/cgroups-stats.ts              on a machine with a delegated cgroup v2 hierarchy, as root
 *     node bench/cgroups-stats.ts --guest      in a User-Mode Linux guest
 *
 * Caveat: a system call in User-Mode Linux costs twenty times and more of what it costs on the machine itself.
 * So the guest's figure says nothing about a node; beside it stands the same number of the same calls (open,
 * read, close of a small kernfs file) on this machine, which no controller is needed for.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { Buffer } from "node:buffer";
import {
  ensureLimits,
  type Limit,
  limitsFor,
  locateRoot,
  openApp,
  readStats,
  removeTree,
} from "../cgroups/mod.ts";

const CGROUPS = 1000;
const FILES_PER_PASS = 6;
const ROUNDS = 10;

if (process.argv.includes("--guest")) {
  const { inGuest } = await import("../test/harness/guest.ts");
  report("kernfs reads alone, this machine", await rounds(readPlainKernfs));
  const { code, output } = await inGuest("exec node bench/cgroups-stats.ts", { timeoutMs: 300_000 });
  console.log(`in the guest:\n${output.trim()}`);
  process.exitCode = code;
} else {
  await benchmark();
}

async function benchmark(): Promise<void> {
  const found = await locateRoot({ override: process.env["CGROUP_ROOT"] });
  if (!found.ok) throw new Error(found.message);
  const limits = limitsFor({ cpuPCT: 10, memPCT: 10, pidsMax: 100 }, { cpus: 1, memoryBytes: 2 ** 30 });
  const dirs = Array.from({ length: CGROUPS }, (_, at) => openApp(found.root, `bench_${at}`));
  try {
    report("limits, first time", await rounds(() => ensureAll(dirs, limits), 1));
    report("readStats", await rounds(() => dirs.forEach((dir) => readStats(dir))));
    report("limits, nothing to do", await rounds(() => ensureAll(dirs, limits)));
  } finally {
    for (const dir of dirs) await removeTree(dir);
  }
}

async function ensureAll(dirs: string[], limits: Limit[]): Promise<void> {
  for (const dir of dirs) await ensureLimits(dir, limits);
}

/** The system calls of one pass, on a file that every Linux has. */
function readPlainKernfs(): void {
  const buffer = Buffer.allocUnsafe(16_384);
  for (let count = 0; count < CGROUPS * FILES_PER_PASS; count++) {
    const fd = openSync("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    buffer.toString("latin1", 0, readSync(fd, buffer, 0, buffer.length, null));
    closeSync(fd);
  }
}

async function rounds(pass: () => unknown, count = ROUNDS): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < count; round++) {
    const start = performance.now();
    await pass();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b);
}

function report(what: string, times: number[]): void {
  const median = times[Math.floor(times.length / 2)]!;
  console.log(
    `${what}: median ${median.toFixed(1)} ms for ${CGROUPS} cgroups (${times[0]!.toFixed(1)} to ` +
      `${times.at(-1)!.toFixed(1)}), ${(median * 1000 / CGROUPS).toFixed(1)} us each`,
  );
}
