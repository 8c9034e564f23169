import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../../../src/supervisor/decide/decide.ts";
import { statusOf } from "../../../src/supervisor/status.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
import { runOf, start, viewWith } from "../fixtures.ts";
import { busy, situation } from "./due-runs-fixtures.ts";

/** An app with two runs beside one another, after one kill in the cgroup that they share. */
function twoRuns(oomPolicy: "Group" | "Process"): AppRecord {
  const record = busy({ concurrencyPolicy: "Allow", oomPolicy });
  return { ...record, others: [runOf(record.app, { id: "other" })] };
}

const alive = viewWith({ oomKills: 1 });
const ended = (code: number) =>
  viewWith({
    exit: { code, at: start + 1 },
    processes: [],
    launcherAlive: false,
    oomKills: 1,
  });
const measured = { cpuPCT: 0, memPCT: 0, memoryBytes: 0, cpuThrottledPCT: 0, processes: 1, oomKills: 1 };
const shown = (record: AppRecord) => statusOf({ record, ready: true, measured }).oomKills;

test("a kill of one process is counted once, for the run that ends after it, not for the next", () => {
  const begun = twoRuns("Process");
  assert.equal(shown(begun), 1);
  const first = decide(begun, situation({ view: alive, others: [ended(137)] })).record;
  assert.deepEqual([first.lastExit?.reason, first.oomKills, shown(first)], ["OOMKilled", 1, 1]);
  const second = decide(first, situation({ view: ended(1) })).record;
  assert.deepEqual([second.lastExit?.reason, second.oomKills], ["Error", 1]);
});

test("it is counted once, too, where the newer run ends first", () => {
  const first = decide(twoRuns("Process"), situation({ view: ended(137), others: [alive] })).record;
  assert.deepEqual([first.run?.id, first.oomKills, shown(first)], ["other", 1, 1]);
  const second = decide(first, situation({ view: ended(1) })).record;
  assert.deepEqual([second.lastExit?.reason, second.oomKills], ["Error", 1]);
});

test("a script that fails after another run was killed is not said to have run out of memory", () => {
  const record = { ...busy({ concurrencyPolicy: "Allow", oomPolicy: "Process" }), countedKills: 1 };
  const view = viewWith({ exit: { code: 3, at: start }, oomKills: 1 });
  assert.match(decide(record, situation({ view })).record.message, /ended with status 3/);
});

test("a kill of the whole group is counted once, and ends every run as OOM killed", () => {
  const first = decide(twoRuns("Group"), situation({ view: alive, others: [ended(137)] })).record;
  const second = decide(first, situation({ view: ended(137) })).record;
  assert.deepEqual([first.lastExit?.reason, second.lastExit?.reason], ["OOMKilled", "OOMKilled"]);
  assert.equal(second.oomKills, 1);
});

test("the count starts at zero with a new cgroup", () => {
  const over = decide(
    busy({ restartPolicy: "OnFailure", oomPolicy: "Process" }),
    situation({ view: ended(137) }),
  ).record;
  const again = decide(over, situation({ now: start + 3_600_000 })).record;
  assert.deepEqual([again.phase, again.oomKills, again.countedKills], ["Starting", 1, undefined]);
  const running = decide(again, situation({ view: viewWith() })).record;
  const killed = decide(running, situation({ view: ended(137) })).record;
  assert.deepEqual([killed.lastExit?.reason, killed.oomKills], ["OOMKilled", 2]);
});
