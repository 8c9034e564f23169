import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCAppSpec } from "../../src/api/types.ts";
import type { Situation } from "../../src/supervisor/situation.ts";
import { decide } from "../../src/supervisor/states.ts";
import type { AppRecord } from "../../src/supervisor/types.ts";
import { appWith, recordWith, runOf, start, viewWith } from "./fixtures.ts";

const minute = 60_000;

/** The schedule of these tests is due at every full minute after `start`. */
function situation(fields: Partial<Situation> = {}): Situation {
  let runs = 1;
  const nextRun = (after: number) => start + (Math.floor((after - start) / minute) + 1) * minute;
  return { now: start, bootId: "boot-1", newRunId: () => `run-${++runs}`, nextRun, ...fields };
}

function everyMinute(spec: NCAppSpec = {}) {
  return appWith({ schedule: "* * * * *", ...spec });
}

/** An app with a run that began at the first due time and still lives. */
function busy(spec: NCAppSpec): AppRecord {
  const app = everyMinute(spec);
  const scheduled = { schedule: "* * * * * ", lastRun: start + minute, nextRun: start + 2 * minute };
  return recordWith({ app, phase: "Running", reason: "Running", run: runOf(app), scheduled });
}

const kinds = (decision: ReturnType<typeof decide>) => decision.effects.map(({ kind }) => kind);
const over = viewWith({ processes: [], launcherAlive: false, exit: { code: 0, at: start } });

test("a scheduled app waits for its time and says when that is", () => {
  const { record, wakeAt, effects } = decide(recordWith({ app: everyMinute() }), situation());
  assert.deepEqual([record.phase, record.reason, record.scheduled?.nextRun, wakeAt], [
    "Pending",
    "Scheduled",
    start + minute,
    start + minute,
  ]);
  assert.deepEqual(effects, []);
  assert.equal(decide(record, situation({ now: start + 1000 })).record, record);
});

test("it starts when it is due, and when it has ended it waits for the next time, whatever its restart policy", () => {
  const waiting = decide(recordWith({ app: everyMinute() }), situation()).record;
  const started = decide(waiting, situation({ now: start + minute })).record;
  assert.deepEqual([started.phase, started.scheduled?.lastRun, started.scheduled?.nextRun], [
    "Starting",
    start + minute,
    start + 2 * minute,
  ]);
  const ended =
    decide({ ...started, phase: "Running" }, situation({ now: start + minute + 5, view: over })).record;
  const again = decide(ended, situation({ now: start + minute + 5 })).record;
  assert.deepEqual([again.phase, again.reason, again.lastExit?.reason, again.restarts], [
    "Pending",
    "Scheduled",
    "Completed",
    0,
  ]);
});

test("times that were missed are made up for by one run, and it is said", () => {
  const waiting = decide(recordWith({ app: everyMinute() }), situation()).record;
  const { record, events } = decide(waiting, situation({ now: start + 100 * minute + 1 }));
  assert.deepEqual([record.phase, record.scheduled?.nextRun], ["Starting", start + 101 * minute]);
  assert.deepEqual(events.map(({ reason }) => reason), ["MissedRun"]);
});

test("under OnFailure a failed run is tried again with backoff, until the next time is due", () => {
  const failed = viewWith({ processes: [], launcherAlive: false, exit: { code: 1, at: start } });
  const record =
    decide(busy({ restartPolicy: "OnFailure" }), situation({ now: start + minute, view: failed })).record;
  assert.equal(record.phase, "BackOff");
  assert.equal(decide(record, situation({ now: start + 2 * minute })).record.phase, "Starting");
});

test("Forbid leaves out what is due while a run lives", () => {
  const { record, events, effects } = decide(
    busy({}),
    situation({ now: start + 2 * minute, view: viewWith() }),
  );
  assert.deepEqual([record.phase, record.run?.id, record.scheduled?.nextRun], [
    "Running",
    "run-1",
    start + 3 * minute,
  ]);
  assert.deepEqual([events[0]?.reason, effects], ["SkippedRun", []]);
});

test("Replace stops the run that lives and starts the next one", () => {
  const stopping =
    decide(busy({ concurrencyPolicy: "Replace" }), situation({ now: start + 2 * minute, view: viewWith() }))
      .record;
  assert.deepEqual([stopping.phase, stopping.run?.stop?.reason], ["Stopping", "Replaced"]);
  const stopped = decide(stopping, situation({ now: start + 2 * minute + 5, view: over })).record;
  const next = decide(stopped, situation({ now: start + 2 * minute + 5 })).record;
  assert.deepEqual([next.phase, next.scheduled?.lastRun], ["Starting", start + 2 * minute]);
});

test("Allow starts another run beside the one that lives, and each is cleared away by itself", () => {
  const second = decide(
    busy({ concurrencyPolicy: "Allow" }),
    situation({ now: start + 2 * minute, view: viewWith() }),
  );
  assert.deepEqual([second.record.phase, second.record.run?.id, second.record.others?.map(({ id }) => id)], [
    "Starting",
    "run-2",
    ["run-1"],
  ]);
  const both =
    decide(second.record, situation({ now: start + 2 * minute, view: viewWith(), others: [viewWith()] }))
      .record;
  assert.deepEqual([both.phase, both.others?.length], ["Running", 1]);
  const first = decide(both, situation({ now: start + 2 * minute, view: viewWith(), others: [over] }));
  assert.deepEqual([first.record.others, kinds(first)[0]], [undefined, "cleanUp"]);
  const promoted =
    decide(both, situation({ now: start + 2 * minute, view: over, others: [viewWith()] })).record;
  assert.deepEqual([promoted.phase, promoted.run?.id, promoted.others], ["Running", "run-1", undefined]);
});

test("a stop under Allow reaches every run, and is not over before the last is", () => {
  const app = everyMinute({ concurrencyPolicy: "Allow" });
  const record = recordWith({
    app,
    phase: "Running",
    run: runOf(app),
    others: [runOf(app, { id: "run-0" })],
    withdrawn: true,
  });
  const stopping = decide(record, situation({ view: viewWith(), others: [viewWith()] })).record;
  assert.deepEqual(kinds(decide(stopping, situation({ view: viewWith(), others: [viewWith()] }))), [
    "terminate",
    "terminate",
  ]);
  assert.equal(decide(stopping, situation({ view: over, others: [viewWith()] })).record.phase, "Stopping");
  const last = decide(stopping, situation({ view: over, others: [over] })).record;
  assert.deepEqual(kinds(decide(last, situation())), ["forget"]);
});

test("a changed schedule counts at once, also while a run lives, and a suspended app keeps no time", () => {
  const changed = { ...busy({}), app: everyMinute({ timeZone: "Asia/Tokyo" }) };
  assert.equal(
    decide(changed, situation({ now: start + 90_000, view: viewWith() })).record.scheduled?.nextRun,
    start + 2 * minute,
  );
  const waiting = decide(recordWith({ app: everyMinute() }), situation()).record;
  const suspended = decide({ ...waiting, app: everyMinute({ suspend: true }) }, situation()).record;
  assert.deepEqual([suspended.reason, suspended.scheduled], ["Suspended", undefined]);
  assert.equal(decide(suspended, situation()).record, suspended);
});
