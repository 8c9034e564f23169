import assert from "node:assert/strict";
import { test } from "node:test";
import { decide, type Situation } from "../../../src/supervisor/decide/decide.ts";
import { isoSeconds } from "../../../src/lib/time.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
import { recordWith, runOf, start, viewWith } from "../fixtures.ts";
import { busy, everyMinute, failed, kinds, minute, over, situation } from "./due-runs-fixtures.ts";

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
  const starting = decide(waiting, situation({ now: start + minute })).record;
  assert.deepEqual([starting.phase, starting.scheduled?.lastRun], ["Starting", undefined]);
  const started = decide(starting, situation({ now: start + minute + 1, view: viewWith() })).record;
  assert.deepEqual([started.phase, started.scheduled?.lastRun, started.scheduled?.nextRun], [
    "Running",
    start + minute,
    start + 2 * minute,
  ]);
  const ended = decide(started, situation({ now: start + minute + 5, view: over })).record;
  const again = decide(ended, situation({ now: start + minute + 5 })).record;
  assert.deepEqual([again.phase, again.reason, again.lastExit?.reason, again.restarts], [
    "Pending",
    "Scheduled",
    "Completed",
    0,
  ]);
});

test("times that were missed are made up for by one run, and that is reported", () => {
  const waiting = decide(recordWith({ app: everyMinute() }), situation()).record;
  const { record, events } = decide(waiting, situation({ now: start + 100 * minute + 1 }));
  const started = decide(record, situation({ now: start + 100 * minute + 2, view: viewWith() })).record;
  assert.deepEqual([started.phase, started.scheduled?.nextRun], ["Running", start + 101 * minute]);
  assert.deepEqual(events.map(({ reason }) => reason), ["MissedRun"]);
});

test("under OnFailure a failed run is tried again with backoff, until the next time is due", () => {
  const record =
    decide(busy({ restartPolicy: "OnFailure" }), situation({ now: start + minute, view: failed })).record;
  assert.equal(record.phase, "BackOff");
  assert.equal(decide(record, situation({ now: start + 2 * minute })).record.phase, "Starting");
});

test("Forbid skips a run that is due while another lives", () => {
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

test("the time of the last success stays when a later run fails, and counts runs beside the newest", () => {
  const [success, failure] = [over, failed].map((view) => (record: AppRecord) =>
    decide(record, situation({ now: start + minute, view })).record
  );
  const completed = success!(busy({}));
  assert.equal(completed.lastSuccess, isoSeconds(start));
  const later = failure!({ ...busy({}), lastSuccess: completed.lastSuccess });
  assert.deepEqual([later.lastExit?.reason, later.lastSuccess], ["Error", isoSeconds(start)]);
  assert.equal(failure!(busy({})).lastSuccess, undefined);
  const both = { ...busy({ concurrencyPolicy: "Allow" }), others: [runOf(everyMinute(), { id: "run-0" })] };
  const beside = decide(both, situation({ now: start + minute, view: viewWith(), others: [over] })).record;
  assert.deepEqual([beside.phase, beside.lastSuccess], ["Running", isoSeconds(start)]);
});

test("Replace stops the run that lives and starts the next one", () => {
  const stopping =
    decide(busy({ concurrencyPolicy: "Replace" }), situation({ now: start + 2 * minute, view: viewWith() }))
      .record;
  assert.deepEqual([stopping.phase, stopping.run?.stop?.reason], ["Stopping", "Replaced"]);
  const stopped = decide(stopping, situation({ now: start + 2 * minute + 5, view: over })).record;
  const next = decide(stopped, situation({ now: start + 2 * minute + 5 })).record;
  assert.equal(next.phase, "Starting");
  const started = decide(next, situation({ now: start + 2 * minute + 6, view: viewWith() })).record;
  assert.deepEqual([started.phase, started.scheduled?.lastRun], ["Running", start + 2 * minute]);
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
  assert.deepEqual([both.scheduled?.lastRun, both.scheduled?.nextRun], [
    start + 2 * minute,
    start + 3 * minute,
  ]);
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

test("the ends of other runs that a stop has brought about are not reported as failures", () => {
  const app = everyMinute({ concurrencyPolicy: "Allow", suspend: true });
  const others = [runOf(app, { id: "run-0" })];
  const record = recordWith({ app, phase: "Running", run: runOf(app), others });
  const stopping = decide(record, situation({ view: viewWith(), others: [viewWith()] })).record;
  const terminated = { ...failed, exit: { code: 143, at: start } };
  const { events } = decide(stopping, situation({ view: viewWith(), others: [terminated] }));
  assert.deepEqual(events.map(({ type, reason }) => [type, reason]), [["Normal", "Stopped"]]);
});

test("what a failed run left behind is stopped, and the other runs live on", () => {
  const app = everyMinute({ concurrencyPolicy: "Allow" });
  const others = [runOf(app, { id: "run-0" })];
  const record = recordWith({ app, phase: "Running", run: runOf(app), others });
  const left = viewWith({ exit: { code: 3, at: start }, launcherAlive: false, processes: [101] });
  const stopping = decide(record, situation({ view: left, others: [viewWith()] })).record;
  assert.deepEqual([stopping.phase, stopping.reason], ["Stopping", "ScriptFailed"]);
  const { effects } = decide(stopping, situation({ view: left, others: [viewWith()] }));
  assert.deepEqual(effects, [{ kind: "terminate", run: stopping.run }]);
  const over = { ...left, processes: [] };
  const next = decide(stopping, situation({ view: over, others: [viewWith()] })).record;
  assert.deepEqual([next.phase, next.run?.id, next.lastExit?.code], ["Running", "run-0", 3]);
});

test("a run beside the newest that daemonized is known for it, too", () => {
  const app = everyMinute({ concurrencyPolicy: "Allow" });
  const others = [runOf(app, { id: "run-0" })];
  const record = recordWith({ app, phase: "Running", run: runOf(app), others });
  const left = viewWith({ exit: { code: 0, at: start }, launcherAlive: false, processes: [101] });
  const seen = decide(record, situation({ view: viewWith(), others: [left] })).record;
  const rebooted = { ...left, processes: [], rebooted: true };
  const { lastExit } = decide(seen, situation({ view: viewWith(), others: [rebooted] })).record;
  assert.equal(lastExit?.reason, "NodeRebooted");
});

test("an app that is withdrawn just as its newest run ends has its other runs stopped before it is forgotten", () => {
  const record = {
    ...busy({ concurrencyPolicy: "Allow" }),
    others: [runOf(everyMinute(), { id: "run-0" })],
    withdrawn: true,
  };
  const left = decide(record, situation({ view: over, others: [viewWith()] }));
  assert.deepEqual([left.record.run?.id, left.record.others, kinds(left)], ["run-0", undefined, ["cleanUp"]]);
  const stopping = decide(left.record, situation({ view: viewWith() })).record;
  assert.deepEqual([stopping.phase, stopping.run?.stop?.reason], ["Stopping", "Deleted"]);
  const last = decide(stopping, situation({ view: over })).record;
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

for (const reason of ["Updated", "Restarted"] as const) {
  test(`a run that is stopped because the app was ${reason} starts again at once`, () => {
    const before = busy({});
    const annotations = reason === "Restarted"
      ? { "app.example.com/restartedAt": new Date(start + minute + 10).toISOString() }
      : undefined;
    const app = {
      ...everyMinute(reason === "Updated" ? { args: ["other"] } : {}),
      metadata: { ...before.app.metadata, annotations },
    };
    const stopping =
      decide({ ...before, app }, situation({ now: start + minute + 20, view: viewWith() })).record;
    assert.deepEqual([stopping.phase, stopping.reason], ["Stopping", reason]);
    const ended = decide(stopping, situation({ now: start + minute + 30, view: over })).record;
    const again = decide(ended, situation({ now: start + minute + 30 }));
    assert.deepEqual([again.record.phase, kinds(again), again.events], ["Starting", ["start"], []]);
    const begun = decide(again.record, situation({ now: start + minute + 31, view: viewWith() })).record;
    assert.deepEqual([begun.scheduled?.lastRun, begun.scheduled?.nextRun], [
      start + minute,
      start + 2 * minute,
    ]);
  });
}

for (const restartPolicy of ["Always", "OnFailure", "Never"] as const) {
  test(`a run that was evicted under ${restartPolicy} starts again after the longest backoff`, () => {
    const app = { restartPolicy, maxBackoffSeconds: 300 };
    const now = start + minute + 20;
    const stopping = decide(busy(app), situation({ now, view: viewWith(), eviction: "memory" })).record;
    const ended = decide(stopping, situation({ now, view: over })).record;
    const waiting = decide(ended, situation({ now }));
    assert.deepEqual([waiting.record.phase, waiting.record.reason, waiting.wakeAt], [
      "Pending",
      "Evicted",
      now + 300_000,
    ]);
    assert.equal(decide(waiting.record, situation({ now: now + 300_000 })).record.phase, "Starting");
  });
}

test("a time that is used up is not used again by a clock that is behind", () => {
  const day = 24 * 60 * minute;
  const nightly: Situation["nextRun"] = (after) => start + (Math.floor((after - start) / day) + 1) * day;
  const scheduled = { schedule: "* * * * * ", lastRun: start + day, nextRun: start + 2 * day };
  const waiting = recordWith({ app: everyMinute(), phase: "Pending", reason: "Scheduled", scheduled });
  const look = (now: number, nextRun = nightly) =>
    decide(waiting, situation({ now, nextRun })).record.scheduled;
  assert.deepEqual(look(start + day - 60 * minute), scheduled);
  // One that goes every minute was set back by an hour: it would wait for all of it.
  const back = start + day - 60 * minute;
  assert.equal(look(back, situation().nextRun)?.nextRun, back + minute);
});
