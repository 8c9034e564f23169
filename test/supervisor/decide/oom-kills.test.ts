import assert from "node:assert/strict";
import { test } from "node:test";
import { statusOf } from "../../../src/supervisor/status.ts";
import type { AppRecord, KillCounts } from "../../../src/supervisor/types.ts";
import { killCounts, runOf, start, viewWith } from "../fixtures.ts";
import { busy, look, step } from "./decide-fixtures.ts";

/** An app with two runs beside one another, after one kill in the cgroup that they share. */
function twoRuns(oomPolicy: "Group" | "Process"): AppRecord {
  const record = busy({ concurrencyPolicy: "Allow", oomPolicy });
  return { ...record, others: [runOf(record.app, { id: "other" })] };
}

const alive = viewWith({ kills: killCounts(1) });
const ended = (code: number) =>
  viewWith({
    exit: { code, at: start + 1, signal: code === 137 ? 9 : 0 },
    processes: [],
    launcherAlive: false,
    kills: killCounts(1),
  });
const measured = {
  cpuPCT: 0,
  memPCT: 0,
  memoryBytes: 0,
  cpuThrottledPCT: 0,
  processes: 1,
  kills: killCounts(1),
};
const shown = (record: AppRecord) => statusOf({ record, measured }).oomKills;

test("a kill of one process is counted once, for the run that ends after it, not for the next", () => {
  const begun = twoRuns("Process");
  assert.equal(shown(begun), 1);
  const first = step(begun, { view: alive, others: [ended(137)] });
  assert.deepEqual([first.lastExit?.reason, first.oomKills, shown(first)], ["OOMKilled", 1, 1]);
  const second = step(first, { view: ended(1) });
  assert.deepEqual([second.lastExit?.reason, second.oomKills], ["Error", 1]);
});

test("it is counted once, too, where the newer run ends first", () => {
  const first = step(twoRuns("Process"), { view: ended(137), others: [alive] });
  assert.deepEqual([first.run?.id, first.oomKills, shown(first)], ["other", 1, 1]);
  const second = step(first, { view: ended(1) });
  assert.deepEqual([second.lastExit?.reason, second.oomKills], ["Error", 1]);
});

test("a script that fails after another run was killed is not said to have run out of memory", () => {
  const record = {
    ...busy({ concurrencyPolicy: "Allow", oomPolicy: "Process" }),
    counted: { ...killCounts(1), policy: "Process" as const },
  };
  const view = viewWith({ exit: { code: 3, at: start }, kills: killCounts(1) });
  assert.match(step(record, { view }).message, /ended with status 3/);
});

test("a kill of the whole group is counted once, and ends every run as OOM killed", () => {
  const first = step(twoRuns("Group"), { view: alive, others: [ended(137)] });
  const second = step(first, { view: ended(137) });
  assert.deepEqual([first.lastExit?.reason, second.lastExit?.reason], ["OOMKilled", "OOMKilled"]);
  assert.equal(second.oomKills, 1);
});

test("a kill ends only one of two runs that are seen to end together", () => {
  const record = twoRuns("Process");
  const { events } = look(record, { view: ended(137), others: [ended(137)] });
  assert.deepEqual(events.map(({ reason }) => reason).sort(), ["Exited", "OOMKilled"]);
});

test("an exit with the script's own status, and a stop, are not out of memory, whatever was killed before", () => {
  for (const oomPolicy of ["Process", "Group"] as const) {
    const failed = step(busy({ oomPolicy }), { view: ended(3) });
    assert.equal(failed.lastExit?.reason, "Error");
  }
  const record = busy({ oomPolicy: "Process" });
  const stop = { reason: "Suspended" as const, message: "", since: start, deadline: start + 1 };
  const stopping = { ...record, phase: "Stopping" as const, run: { ...record.run!, stop } };
  assert.equal(step(stopping, { view: ended(137) }).lastExit?.reason, "Stopped");
});

test("the next run counts on in the same cgroup, and from zero in a new one", () => {
  for (
    const [cgroup, kills, total] of [["app", 1, 1], ["app", 2, 2], ["new", 1, 2], ["new", 0, 1]] as const
  ) {
    for (const oomPolicy of ["Process", "Group"] as const) {
      const over = step(busy({ restartPolicy: "OnFailure", oomPolicy }), { view: ended(137) });
      const again = step(over, { now: start + 3_600_000 });
      assert.deepEqual([again.phase, again.oomKills], ["Starting", 1]);
      const running = step(again, { view: viewWith() });
      const view = { ...ended(137), kills: killCounts(kills, cgroup) };
      const killed = step(running, { view });
      const reason = total > 1 ? "OOMKilled" : "Error";
      assert.deepEqual(
        [killed.lastExit?.reason, killed.oomKills],
        [reason, total],
        `${cgroup} ${kills} ${oomPolicy}`,
      );
    }
  }
});

test("the count never goes back when the policy changes", () => {
  const started = step({ ...busy({ oomPolicy: "Process" }), phase: "Pending", run: undefined }, {
    now: start + 3_600_000,
  });
  const running = { ...step(started, { view: viewWith() }) };
  const kills = { cgroup: "app", processes: 5, groups: 0 };
  const shownWith = (record: AppRecord, kills: KillCounts) =>
    statusOf({ record, measured: { ...measured, kills } }).oomKills;
  assert.equal(shownWith(running, kills), 5);
  const changed = {
    ...running,
    app: { ...running.app, spec: { ...running.app.spec, oomPolicy: "Group" as const } },
  };
  assert.equal(shownWith(changed, kills), 5);
  const decided = step(changed, { view: viewWith({ kills }) });
  assert.equal(shownWith(decided, kills), 5);
  assert.equal(shownWith(decided, { ...kills, processes: 9, groups: 1 }), 6);
});
