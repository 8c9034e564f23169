import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NCAppSpec } from "../../../src/api/types.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
import { recordWith, start, viewWith } from "../fixtures.ts";
import { busy, everyMinute, failed, kinds, look, minute, over, step } from "./decide-fixtures.ts";

const problem = { reason: "DownloadFailed", message: "the server answered 503" } as const;
const nothingYet = viewWith({ claim: "none", started: undefined, processes: [], launcherAlive: false });
const cancelled = { ...nothingYet, claim: "cancelled" as const };
const due = start + minute;

/** An app whose first run is due now and is being started. */
function starting(spec: NCAppSpec = {}, now = due): AppRecord {
  const waiting = step(recordWith({ app: everyMinute(spec) }));
  return step(waiting, { now });
}

function failStart(record: AppRecord, now: number): AppRecord {
  return step(record, { now, view: nothingYet, problem });
}

describe("a scheduled run whose start fails", () => {
  for (const restartPolicy of ["Always", "OnFailure", "Never"] as const) {
    test(`is tried again soon under ${restartPolicy}, and its reason stays until then`, () => {
      const record = failStart(starting({ restartPolicy }), due);
      assert.deepEqual([record.phase, record.reason, record.retryAt], [
        "Pending",
        "DownloadFailed",
        due + 1000,
      ]);
      const waiting = look(record, { now: due + 999 });
      assert.equal(waiting.record, record);
      assert.deepEqual([waiting.wakeAt, waiting.effects], [due + 1000, []]);
      const again = look(record, { now: due + 1000 });
      assert.deepEqual([again.record.phase, kinds(again)], ["Starting", ["start"]]);
    });
  }

  test("has not run: lastRun stays the same until a script starts", () => {
    const before = { schedule: "* * * * * ", lastRun: start - minute, nextRun: due };
    const record = failStart({ ...starting(), scheduled: before }, due);
    assert.deepEqual(record.scheduled, before);
    const again = step(record, { now: due + 10_000 });
    const begun = step(again, { now: due + 10_001, view: viewWith() });
    assert.deepEqual([begun.phase, begun.scheduled?.lastRun, begun.scheduled?.nextRun], [
      "Running",
      due,
      due + minute,
    ]);
  });

  test("waits longer after each failure, but not beyond the next time", () => {
    const once = failStart(starting(), due);
    const twice = failStart(step(once, { now: due + 10_000 }), due + 10_000);
    assert.deepEqual([twice.failedStarts, twice.retryAt], [2, due + 12_000]);
    const thrice = failStart(step(twice, { now: due + 59_000 }), due + 59_000);
    assert.deepEqual([thrice.failedStarts, thrice.retryAt], [3, due + minute]);
  });

  test("is made up for by one run when further times pass meanwhile, and is reported as failed, not as missed", () => {
    const record = failStart(starting(), due);
    const again = look(record, { now: due + 5 * minute + 1 });
    assert.deepEqual([again.record.phase, again.events], ["Starting", []]);
    const begun = step(again.record, { now: due + 5 * minute + 2, view: viewWith() });
    assert.equal(begun.scheduled?.nextRun, due + 6 * minute);
    const ended = step(begun, { now: due + 5 * minute + 3, view: over });
    const { record: rest, wakeAt } = look(ended, { now: due + 5 * minute + 3 });
    assert.deepEqual([rest.phase, rest.reason, wakeAt], ["Pending", "Scheduled", due + 6 * minute]);
  });

  test("is tried at once when what runs is changed, and not at all when the schedule is", () => {
    const record = failStart(starting(), due);
    const repaired = { ...record, app: everyMinute({ shellFile: "/opt/other.sh" }) };
    assert.equal(step(repaired, { now: due + 1 }).phase, "Starting");
    const moved = look({ ...record, app: everyMinute({ timeZone: "Asia/Tokyo" }) }, { now: due + 1 });
    assert.deepEqual([moved.record.reason, moved.record.retryAt, moved.record.scheduled?.nextRun], [
      "Scheduled",
      undefined,
      due + minute,
    ]);
  });

  test("is no longer due once the app is suspended", () => {
    const record = failStart(starting(), due);
    const suspended = step({ ...record, app: everyMinute({ suspend: true }) }, { now: due + 1 });
    assert.deepEqual([suspended.reason, suspended.scheduled], ["Suspended", undefined]);
    const back = step({ ...suspended, app: everyMinute() }, { now: due + 20_000 });
    assert.deepEqual([back.reason, back.scheduled?.nextRun], ["Scheduled", due + minute]);
  });

  test("beside a run that lives, under Allow, is tried again soon", () => {
    const now = start + 2 * minute;
    const second = step(busy({ concurrencyPolicy: "Allow" }), { now, view: viewWith() });
    const record = step(second, { now, view: nothingYet, others: [viewWith()], problem });
    assert.deepEqual([record.phase, record.run?.id, record.scheduled?.lastRun], ["Running", "run-1", due]);
    const waiting = look(record, { now: now + 999, view: viewWith() });
    assert.equal(waiting.record, record);
    assert.equal(waiting.wakeAt, now + 1000);
    const again = look(record, { now: now + 1000, view: viewWith() });
    assert.deepEqual([again.record.phase, again.record.others?.length, kinds(again)], ["Starting", 1, [
      "start",
    ]]);
    const moved = { ...record, app: everyMinute({ concurrencyPolicy: "Allow", timeZone: "Asia/Tokyo" }) };
    const free = step(moved, { now: now + 1, view: viewWith() });
    assert.deepEqual([free.retryAt, free.scheduled?.nextRun], [undefined, now + minute]);
    const alone = step(record, { now: now + 5000, view: over });
    assert.equal(step(alone, { now: now + 5000 }).phase, "Starting");
  });

  test("counts for its own time only", () => {
    const now = start + 2 * minute;
    const record = { ...busy({ concurrencyPolicy: "Allow" }), failures: 5, failedStarts: 5 };
    const second = step(record, { now, view: viewWith() });
    const { retryAt } = step(second, { now, view: nothingYet, others: [viewWith()], problem });
    assert.equal(retryAt, now + 1000);
  });
});

describe("a scheduled run that was canceled while it was starting", () => {
  test("starts again at once, since it has not run", () => {
    const record = step(starting(), { now: due + 5000, view: cancelled });
    assert.deepEqual([record.phase, record.run, record.scheduled?.lastRun], [
      "Pending",
      undefined,
      undefined,
    ]);
    const again = look(record, { now: due + 5000 });
    assert.deepEqual([again.record.phase, kinds(again)], ["Starting", ["start"]]);
  });

  test("starts once after a long reboot, and is reported as late", () => {
    const now = due + 10 * minute + 1;
    const record = step(starting(), { now, view: cancelled, bootId: "boot-2" });
    const again = look(record, { now, bootId: "boot-2" });
    assert.deepEqual(again.events.map(({ reason }) => reason), ["MissedRun"]);
    const begun = step(again.record, { now, view: viewWith() });
    assert.equal(begun.scheduled?.nextRun, due + 11 * minute);
  });
});

describe("a scheduled run that is repeated under OnFailure", () => {
  function repeated(): AppRecord {
    const backOff = step(busy({ restartPolicy: "OnFailure" }), { now: due, view: failed });
    return step(backOff, { now: due + 10_000 });
  }

  test("is not given up when its start fails", () => {
    const record = failStart(repeated(), due + 10_000);
    assert.deepEqual([record.reason, record.retryAt, record.scheduled?.lastRun], [
      "DownloadFailed",
      due + 11_000,
      due,
    ]);
    assert.equal(step(record, { now: due + 10_999 }), record);
    const again = step(record, { now: due + 11_000 });
    const begun = step(again, { now: due + 11_000, view: viewWith() });
    assert.deepEqual([begun.phase, begun.scheduled?.nextRun], ["Running", due + minute]);
  });

  test("is not given up when it was canceled while it was starting", () => {
    const record = step(repeated(), { now: due + 2 * minute, view: cancelled });
    const again = look(record, { now: due + 2 * minute });
    assert.deepEqual([again.record.phase, again.events], ["Starting", []]);
  });

  test("begins at once, and not a second time, when its next time has come", () => {
    const backOff = step(busy({ restartPolicy: "OnFailure", backoffSeconds: 300 }), {
      now: due,
      view: failed,
    });
    const again = step(backOff, { now: due + minute });
    const begun = step(again, { now: due + minute, view: viewWith() });
    assert.deepEqual([begun.phase, begun.scheduled?.lastRun, begun.scheduled?.nextRun], [
      "Running",
      due + minute,
      due + 2 * minute,
    ]);
  });
});

test("a time that comes while a run is starting is left to the concurrency policy", () => {
  const begun = step(starting(), { now: due + minute + 1, view: viewWith() });
  assert.deepEqual([begun.scheduled?.lastRun, begun.scheduled?.nextRun], [due, due + minute]);
  const { events } = look(begun, { now: due + minute + 1, view: viewWith() });
  assert.deepEqual(events.map(({ reason }) => reason), ["SkippedRun"]);
});
