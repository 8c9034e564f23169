/**
 * CPU caps on a real kernel: what a busy app gets is what its cap says, within 5%.
 *
 * Over the cap is a failure at once. Under it may be the machine below the guest, which has other things to do:
 * then it is measured again, four times at most.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  cpuPercentSince,
  ensureLimits,
  limitsFor,
  readStats,
  throttledPercentSince,
} from "../../../cgroups/mod.ts";
import { makeApp, NODE, startRun } from "./cgroups-app.ts";

const LOOP = "while :; do :; done";
const FOUR_LOOPS = `(${LOOP}) & (${LOOP}) & (${LOOP}) & (${LOOP}) & wait`;

test("a busy loop and four busy children get 5 and 10 percent, and a loop beside them 50", async (t) => {
  await assertShares(t, [[5, LOOP], [5, FOUR_LOOPS], [10, LOOP], [10, FOUR_LOOPS], [50, LOOP]]);
});

test("a busy loop and four busy children get 20 percent, and four more beside them 50", async (t) => {
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

test("the kernel takes the smallest cap, a tenth of a percent", async (t) => {
  const dir = await makeApp(t, "tiny", { cpuPCT: 0.1 });
  assert.equal(readFileSync(`${dir}/cpu.max`, "utf8"), "1000 1000000\n");
});

test("a cap moves both ways under a running app", async (t) => {
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
  const measured = await assertMeasured(started, 10_500);
  t.diagnostic(started.map(({ cap }, at) => `${cap}: ${measured[at]!.toFixed(2)}`).join(", "));
}

async function assertMeasured(apps: { dir: string; cap: number }[], ms: number): Promise<number[]> {
  for (let attempt = 1;; attempt++) {
    const measured = await measure(apps.map(({ dir }) => dir), ms);
    const told = apps.map(({ cap }, at) => `${measured[at]!.toFixed(2)}% of a cap of ${cap}%`).join(", ");
    assert.ok(apps.every(({ cap }, at) => measured[at]! <= cap * 1.05), `over the cap: ${told}`);
    if (apps.every(({ cap }, at) => measured[at]! >= cap * 0.95)) return measured;
    assert.ok(attempt < 5, `under the cap: ${told}`);
  }
}

/** Use of each cgroup in percent of one CPU over the time, begun when all of them are at their caps. */
async function measure(dirs: string[], ms: number): Promise<number[]> {
  const from = dirs.map((dir) => readStats(dir)!.cpu.throttledPeriods);
  while (dirs.some((dir, at) => readStats(dir)!.cpu.throttledPeriods < from[at]! + 3)) await sleep(100);
  const before = dirs.map((dir) => readStats(dir)!);
  await sleep(ms);
  return dirs.map((dir, at) => {
    const after = readStats(dir)!;
    assert.ok(throttledPercentSince(before[at]!, after)! > 0, `${dir} was throttled`);
    return cpuPercentSince(before[at]!, after, NODE.cpus)!;
  });
}
