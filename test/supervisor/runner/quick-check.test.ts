import assert from "node:assert/strict";
import { test } from "node:test";
import { looksUnchanged, planQuickCheck } from "../../../src/supervisor/runner/quick-check.ts";
import type { AppRecord, RunView } from "../../../src/supervisor/types.ts";

const now = 1_000_000;
const minute = 60_000;
const launcher = { pid: 10, startTime: "1" };
const main = { pid: 11, startTime: "2" };
const running = { phase: "Running" } as AppRecord;
const view: RunView = {
  claim: "launcher",
  launcher,
  launcherAlive: true,
  rebooted: false,
  started: { at: now, main },
  processes: [11, 12],
};
const everybody = () => true;

test("a running app passes quick checks while its launcher lives, for two minutes", () => {
  const quiet = planQuickCheck(running, view, now)!;
  assert.deepEqual(quiet.processes, [launcher]);
  assert.equal(looksUnchanged(quiet, now + minute, everybody), true);
  assert.equal(looksUnchanged(quiet, now + minute, ({ pid }) => pid !== launcher.pid), false);
  assert.equal(looksUnchanged(quiet, now + 2 * minute, everybody), false);
});

test("if the launcher is gone, the quick check asks for the script's process", () => {
  const orphan = planQuickCheck(running, { ...view, launcherAlive: false }, now)!;
  assert.deepEqual(orphan.processes, [main]);
  assert.equal(looksUnchanged(orphan, now + minute, ({ pid }) => pid !== main.pid), false);
});

test("if the launcher is gone and a copier is there, the quick check asks for that, too", () => {
  const copier = { pid: 13, startTime: "3" };
  const copied = planQuickCheck(running, { ...view, launcherAlive: false, copier }, now)!;
  assert.deepEqual(copied.processes, [main, copier]);
  assert.equal(looksUnchanged(copied, now + minute, ({ pid }) => pid !== copier.pid), false);
});

test("a clock that was set back fails the quick check", () => {
  assert.equal(looksUnchanged(planQuickCheck(running, view, now)!, now - 1, everybody), false);
});

test("if children outlive their script, a quick check asks for the survivor", () => {
  const daemon = { ...view, launcherAlive: false, exit: { code: 0, at: now }, processes: [12] };
  const pids = (record: AppRecord) => planQuickCheck(record, daemon, now)?.processes.map(({ pid }) => pid);
  assert.deepEqual(pids(running), [12]);
  assert.deepEqual(pids({ ...running, run: { survivor: 13 } } as AppRecord), [13]);
});

test("an app that does not run, has no processes, or has other runs gets no quick check", () => {
  assert.equal(planQuickCheck({ ...running, phase: "Stopping" }, view, now), undefined);
  assert.equal(planQuickCheck(running, { ...view, processes: [] }, now), undefined);
  assert.equal(planQuickCheck(running, undefined, now), undefined);
  const uncopied = { ...view, launcher: { ...view.launcher!, pipe: "pipe:[7]" }, launcherAlive: false };
  assert.equal(planQuickCheck(running, uncopied, now), undefined);
  assert.equal(planQuickCheck({ ...running, others: [{}] } as AppRecord, view, now), undefined);
});
