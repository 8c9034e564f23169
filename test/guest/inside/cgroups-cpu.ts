/**
 * CPU caps on a real kernel: a busy app gets its cap, within 5%.
 *
 * Usage above the cap fails at once. Usage below it may be caused by the host of the guest: then the test measures again, four times at
 * most.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ensureLimits, limitsFor, readStats } from "../../../cgroups/mod.ts";
import { makeApp, NODE, startRun } from "./cgroups-app.ts";

const LOOP = "while :; do :; done";
const FOUR_LOOPS = `(${LOOP}) & (${LOOP}) & (${LOOP}) & (${LOOP}) & wait`;

test("a busy loop and four busy children get 5 and 10 percent, and a loop next to them 50", async (t) => {
  await assertShares(t, [[5, LOOP], [5, FOUR_LOOPS], [10, LOOP], [10, FOUR_LOOPS], [50, LOOP]]);
});

test("a busy loop and four busy children get 20 percent, and four more next to them 50", async (t) => {
  await assertShares(t, [[20, LOOP], [20, FOUR_LOOPS], [50, FOUR_LOOPS]]);
});

test("a busy loop gets 90 percent", async (t) => {
  await assertShares(t, [[90, LOOP]]);
});

test("four busy children get 90 percent", async (t) => {
  await assertShares(t, [[90, FOUR_LOOPS]]);
});

test("apps capped at 30 and 60 percent side by side get both", async (t) => {
  await assertShares(t, [[30, LOOP], [60, LOOP]]);
});

test("the kernel accepts the smallest cap, a tenth of a percent", async (t) => {
  const dir = await makeApp(t, "tiny", { cpuPCT: 0.1 });
  assert.equal(readFileSync(`${dir}/cpu.max`, "utf8"), "1000 1000000\n");
});

test("the cap of a running app can grow and shrink", async (t) => {
  const dir = await makeApp(t, "moving", { cpuPCT: 10 });
  const { child } = startRun(dir, LOOP);
  for (const cpuPCT of [40, 20]) {
    const { changed } = await ensureLimits(dir, limitsFor({ cpuPCT }, NODE));
    assert.deepEqual(changed, [{ file: "cpu.max", value: `${cpuPCT * 1000} 100000` }]);
    await assertMeasured([{ dir, cap: cpuPCT }], 4_000);
  }
  assert.equal(child.exitCode, null);
});

async function assertShares(t: TestContext, apps: [cap: number, script: string][]): Promise<void> {
  const started = [];
  for (const [at, [cap, script]] of apps.entries()) {
    const dir = await makeApp(t, `share_${cap}_${at}`, { cpuPCT: cap });
    startRun(dir, script);
    started.push({ dir, cap });
  }
  // The edges of a window cut a period of 100 ms and a tick of 10 ms: at a cap of 5 percent no more than 3.4 percent of the usage.
  const measured = await assertMeasured(started, 9_000);
  t.diagnostic(started.map(({ cap }, at) => `${cap}: ${measured[at]!.toFixed(2)}`).join(", "));
}

async function assertMeasured(apps: { dir: string; cap: number }[], ms: number): Promise<number[]> {
  for (let attempt = 1;; attempt++) {
    const measured = await measure(apps.map(({ dir }) => dir), ms);
    const summary = apps.map(({ cap }, at) => `${measured[at]!.toFixed(2)}% of a cap of ${cap}%`).join(", ");
    assert.ok(apps.every(({ cap }, at) => measured[at]! <= cap * 1.05), `over the cap: ${summary}`);
    if (apps.every(({ cap }, at) => measured[at]! >= cap * 0.95)) return measured;
    assert.ok(attempt < 5, `under the cap: ${summary}`);
  }
}

/** Returns the usage of each cgroup in percent of one CPU, measured once all of them are throttled. */
async function measure(dirs: string[], ms: number): Promise<number[]> {
  const from = dirs.map(throttledPeriods);
  while (dirs.some((dir, at) => throttledPeriods(dir) < from[at]! + 3)) await sleep(100);
  const before = dirs.map((dir) => ({ ...read(dir), periods: throttledPeriods(dir) }));
  await sleep(ms);
  return dirs.map((dir, at) => {
    const after = read(dir);
    assert.ok(throttledPeriods(dir) > before[at]!.periods, `${dir} was throttled`);
    const elapsedUsec = (after.at - before[at]!.at) * 1000;
    return (after.usageUsec - before[at]!.usageUsec) / elapsedUsec / NODE.cpus * 100;
  });
}

/** The usage, and next to it the time of the reading. */
function read(dir: string): { at: number; usageUsec: number } {
  return { at: performance.now(), usageUsec: readStats(dir)!.cpu.usageUsec };
}

function throttledPeriods(dir: string): number {
  return Number(/^nr_throttled (\d+)$/m.exec(readFileSync(`${dir}/cpu.stat`, "utf8"))?.[1]);
}
