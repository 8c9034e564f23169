import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NCAppSpec } from "../../../src/api/types.ts";
import { decide } from "../../../src/supervisor/decide/decide.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
import { recordWith, start, viewWith } from "../fixtures.ts";
import { busy, everyMinute, failed, kinds, minute, over, situation } from "./due-runs-fixtures.ts";

const problem = { reason: "DownloadFailed", message: "the server answered 503" } as const;
const nothingYet = viewWith({ claim: "none", started: undefined, processes: [], launcherAlive: false });
const cancelled = { ...nothingYet, claim: "cancelled" as const };
const due = start + minute;

/** An app whose first run is due now and is being started. */
function starting(spec: NCAppSpec = {}, now = due): AppRecord {
  const waiting = decide(recordWith({ app: everyMinute(spec) }), situation()).record;
  return decide(waiting, situation({ now })).record;
}

function failStart(record: AppRecord, now: number): AppRecord {
  return decide(record, situation({ now, view: nothingYet, problem })).record;
}

describe("a scheduled run whose start fails", () => {
  for (const restartPolicy of ["Always", "OnFailure", "Never"] as const) {
    test(`is tried again after the backoff under ${restartPolicy}, and its reason stays until then`, () => {
      const record = failStart(starting({ restartPolicy }), due);
      assert.deepEqual([record.phase, record.reason, record.retryAt], [
        "Pending",
        "DownloadFailed",
        due + 10_000,
      ]);
      const waiting = decide(record, situation({ now: due + 9999 }));
      assert.equal(waiting.record, record);
      assert.deepEqual([waiting.wakeAt, waiting.effects], [due + 10_000, []]);
      const again = decide(record, situation({ now: due + 10_000 }));
      assert.deepEqual([again.record.phase, kinds(again)], ["Starting", ["start"]]);
    });
  }

  test("has not run: lastRun stays the same until a script starts", () => {
    const before = { schedule: "* * * * * ", lastRun: start - minute, nextRun: due };
    const record = failStart({ ...starting(), scheduled: before }, due);
    assert.deepEqual(record.scheduled, before);
    const again = decide(record, situation({ now: due + 10_000 })).record;
    const begun = decide(again, situation({ now: due + 10_001, view: viewWith() })).record;
    assert.deepEqual([begun.phase, begun.scheduled?.lastRun, begun.scheduled?.nextRun], [
      "Running",
      due,
      due + minute,
    ]);
  });

  test("waits longer after each failure, but not beyond the next time", () => {
    const once = failStart(starting(), due);
    const twice = failStart(decide(once, situation({ now: due + 10_000 })).record, due + 10_000);
    assert.deepEqual([twice.failures, twice.retryAt], [2, due + 30_000]);
    const thrice = failStart(decide(twice, situation({ now: due + 30_000 })).record, due + 30_000);
    assert.deepEqual([thrice.failures, thrice.retryAt], [3, due + minute]);
  });

  test("is made up for by one run when further times pass meanwhile, and is reported as failed, not as missed", () => {
    const record = failStart(starting(), due);
    const again = decide(record, situation({ now: due + 5 * minute + 1 }));
    assert.deepEqual([again.record.phase, again.events], ["Starting", []]);
    const begun = decide(again.record, situation({ now: due + 5 * minute + 2, view: viewWith() })).record;
    assert.equal(begun.scheduled?.nextRun, due + 6 * minute);
    const ended = decide(begun, situation({ now: due + 5 * minute + 3, view: over })).record;
    const { record: rest, wakeAt } = decide(ended, situation({ now: due + 5 * minute + 3 }));
    assert.deepEqual([rest.phase, rest.reason, wakeAt], ["Pending", "Scheduled", due + 6 * minute]);
  });

  test("is tried at once when what runs is changed, and not at all when the schedule is", () => {
    const record = failStart(starting(), due);
    const repaired = { ...record, app: everyMinute({ shellFile: "/opt/other.sh" }) };
    assert.equal(decide(repaired, situation({ now: due + 1 })).record.phase, "Starting");
    const moved = decide(
      { ...record, app: everyMinute({ timeZone: "Asia/Tokyo" }) },
      situation({ now: due + 1 }),
    );
    assert.deepEqual([moved.record.reason, moved.record.retryAt, moved.record.scheduled?.nextRun], [
      "Scheduled",
      undefined,
      due + minute,
    ]);
  });

  test("is no longer due once the app is suspended", () => {
    const record = failStart(starting(), due);
    const suspended =
      decide({ ...record, app: everyMinute({ suspend: true }) }, situation({ now: due + 1 })).record;
    assert.deepEqual([suspended.reason, suspended.scheduled], ["Suspended", undefined]);
    const back = decide({ ...suspended, app: everyMinute() }, situation({ now: due + 20_000 })).record;
    assert.deepEqual([back.reason, back.scheduled?.nextRun], ["Scheduled", due + minute]);
  });

  test("beside a run that lives, under Allow, is tried again after the backoff", () => {
    const now = start + 2 * minute;
    const second = decide(busy({ concurrencyPolicy: "Allow" }), situation({ now, view: viewWith() })).record;
    const record = decide(second, situation({ now, view: nothingYet, others: [viewWith()], problem })).record;
    assert.deepEqual([record.phase, record.run?.id, record.scheduled?.lastRun], ["Running", "run-1", due]);
    const waiting = decide(record, situation({ now: now + 9999, view: viewWith() }));
    assert.equal(waiting.record, record);
    assert.equal(waiting.wakeAt, now + 10_000);
    const again = decide(record, situation({ now: now + 10_000, view: viewWith() }));
    assert.deepEqual([again.record.phase, again.record.others?.length, kinds(again)], ["Starting", 1, [
      "start",
    ]]);
    const moved = { ...record, app: everyMinute({ concurrencyPolicy: "Allow", timeZone: "Asia/Tokyo" }) };
    const free = decide(moved, situation({ now: now + 1, view: viewWith() })).record;
    assert.deepEqual([free.retryAt, free.scheduled?.nextRun], [undefined, now + minute]);
    const alone = decide(record, situation({ now: now + 5000, view: over })).record;
    assert.equal(decide(alone, situation({ now: now + 5000 })).record.phase, "Starting");
  });

  test("counts for its own time only", () => {
    const now = start + 2 * minute;
    const record = { ...busy({ concurrencyPolicy: "Allow" }), failures: 5 };
    const second = decide(record, situation({ now, view: viewWith() })).record;
    const { retryAt } =
      decide(second, situation({ now, view: nothingYet, others: [viewWith()], problem })).record;
    assert.equal(retryAt, now + 10_000);
  });
});

describe("a scheduled run that was canceled while it was starting", () => {
  test("starts again at once, since it has not run", () => {
    const record = decide(starting(), situation({ now: due + 5000, view: cancelled })).record;
    assert.deepEqual([record.phase, record.run, record.scheduled?.lastRun], [
      "Pending",
      undefined,
      undefined,
    ]);
    const again = decide(record, situation({ now: due + 5000 }));
    assert.deepEqual([again.record.phase, kinds(again)], ["Starting", ["start"]]);
  });

  test("starts once after a long reboot, and is reported as late", () => {
    const now = due + 10 * minute + 1;
    const record = decide(starting(), situation({ now, view: cancelled, bootId: "boot-2" })).record;
    const again = decide(record, situation({ now, bootId: "boot-2" }));
    assert.deepEqual(again.events.map(({ reason }) => reason), ["MissedRun"]);
    const begun = decide(again.record, situation({ now, view: viewWith() })).record;
    assert.equal(begun.scheduled?.nextRun, due + 11 * minute);
  });
});

describe("a scheduled run that is repeated under OnFailure", () => {
  function repeated(): AppRecord {
    const backOff =
      decide(busy({ restartPolicy: "OnFailure" }), situation({ now: due, view: failed })).record;
    return decide(backOff, situation({ now: due + 10_000 })).record;
  }

  test("is not given up when its start fails", () => {
    const record = failStart(repeated(), due + 10_000);
    assert.deepEqual([record.reason, record.retryAt, record.scheduled?.lastRun], [
      "DownloadFailed",
      due + 30_000,
      due,
    ]);
    assert.equal(decide(record, situation({ now: due + 20_000 })).record, record);
    const again = decide(record, situation({ now: due + 30_000 })).record;
    const begun = decide(again, situation({ now: due + 30_000, view: viewWith() })).record;
    assert.deepEqual([begun.phase, begun.scheduled?.nextRun], ["Running", due + minute]);
  });

  test("is not given up when it was canceled while it was starting", () => {
    const record = decide(repeated(), situation({ now: due + 2 * minute, view: cancelled })).record;
    const again = decide(record, situation({ now: due + 2 * minute }));
    assert.deepEqual([again.record.phase, again.events], ["Starting", []]);
  });

  test("begins at once, and not a second time, when its next time has come", () => {
    const backOff = decide(
      busy({ restartPolicy: "OnFailure", backoffSeconds: 300 }),
      situation({ now: due, view: failed }),
    ).record;
    const again = decide(backOff, situation({ now: due + minute })).record;
    const begun = decide(again, situation({ now: due + minute, view: viewWith() })).record;
    assert.deepEqual([begun.phase, begun.scheduled?.lastRun, begun.scheduled?.nextRun], [
      "Running",
      due + minute,
      due + 2 * minute,
    ]);
  });
});

test("a time that comes while a run is starting is left to the concurrency policy", () => {
  const begun = decide(starting(), situation({ now: due + minute + 1, view: viewWith() })).record;
  assert.deepEqual([begun.scheduled?.lastRun, begun.scheduled?.nextRun], [due, due + minute]);
  const { events } = decide(begun, situation({ now: due + minute + 1, view: viewWith() }));
  assert.deepEqual(events.map(({ reason }) => reason), ["SkippedRun"]);
});
