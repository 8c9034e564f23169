import assert from "node:assert/strict";
import { test } from "node:test";
import type { Situation } from "../../../src/supervisor/decide/decide.ts";
import { isoSeconds } from "../../../src/lib/time.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
import { recordWith, runOf, start, viewWith } from "../fixtures.ts";
import { busy, everyMinute, failed, kinds, look, minute, over, situation, step } from "./decide-fixtures.ts";

test("a scheduled app waits for its time and says when that is", () => {
  const { record, wakeAt, effects } = look(recordWith({ app: everyMinute() }));
  assert.deepEqual([record.phase, record.reason, record.scheduled?.nextRun, wakeAt], [
    "Pending",
    "Scheduled",
    start + minute,
    start + minute,
  ]);
  assert.deepEqual(effects, []);
  assert.equal(step(record, { now: start + 1000 }), record);
});

test("it starts when it is due, and when it has ended it waits for the next time, whatever its restart policy", () => {
  const waiting = step(recordWith({ app: everyMinute() }));
  const starting = step(waiting, { now: start + minute });
  assert.deepEqual([starting.phase, starting.scheduled?.lastRun], ["Starting", undefined]);
  const started = step(starting, { now: start + minute + 1, view: viewWith() });
  assert.deepEqual([started.phase, started.scheduled?.lastRun, started.scheduled?.nextRun], [
    "Running",
    start + minute,
    start + 2 * minute,
  ]);
  const ended = step(started, { now: start + minute + 5, view: over });
  const again = step(ended, { now: start + minute + 5 });
  assert.deepEqual([again.phase, again.reason, again.lastExit?.reason, again.restarts], [
    "Pending",
    "Scheduled",
    "Completed",
    0,
  ]);
});

test("times that were missed are made up for by one run, and that is reported", () => {
  const waiting = step(recordWith({ app: everyMinute() }));
  const { record, events } = look(waiting, { now: start + 100 * minute + 1 });
  const started = step(record, { now: start + 100 * minute + 2, view: viewWith() });
  assert.deepEqual([started.phase, started.scheduled?.nextRun], ["Running", start + 101 * minute]);
  assert.deepEqual(events.map(({ reason }) => reason), ["MissedRun"]);
});

test("under OnFailure a failed run is tried again with backoff, until the next time is due", () => {
  const record = step(busy({ restartPolicy: "OnFailure" }), { now: start + minute, view: failed });
  assert.equal(record.phase, "BackOff");
  assert.equal(step(record, { now: start + 2 * minute }).phase, "Starting");
});

test("Forbid skips a run that is due while another lives", () => {
  const { record, events, effects } = look(busy({}), { now: start + 2 * minute, view: viewWith() });
  assert.deepEqual([record.phase, record.run?.id, record.scheduled?.nextRun], [
    "Running",
    "run-1",
    start + 3 * minute,
  ]);
  assert.deepEqual([events[0]?.reason, effects], ["SkippedRun", []]);
});

test("the time of the last success stays when a later run fails, and counts runs beside the newest", () => {
  const [success, failure] = [over, failed].map((view) => (record: AppRecord) =>
    step(record, { now: start + minute, view })
  );
  const completed = success!(busy({}));
  assert.equal(completed.lastSuccess, isoSeconds(start));
  const later = failure!({ ...busy({}), lastSuccess: completed.lastSuccess });
  assert.deepEqual([later.lastExit?.reason, later.lastSuccess], ["Error", isoSeconds(start)]);
  assert.equal(failure!(busy({})).lastSuccess, undefined);
  const both = { ...busy({ concurrencyPolicy: "Allow" }), others: [runOf(everyMinute(), { id: "run-0" })] };
  const beside = step(both, { now: start + minute, view: viewWith(), others: [over] });
  assert.deepEqual([beside.phase, beside.lastSuccess], ["Running", isoSeconds(start)]);
});

test("Replace stops the run that lives and starts the next one", () => {
  const stopping = step(busy({ concurrencyPolicy: "Replace" }), {
    now: start + 2 * minute,
    view: viewWith(),
  });
  assert.deepEqual([stopping.phase, stopping.run?.stop?.reason], ["Stopping", "Replaced"]);
  const stopped = step(stopping, { now: start + 2 * minute + 5, view: over });
  const next = step(stopped, { now: start + 2 * minute + 5 });
  assert.equal(next.phase, "Starting");
  const started = step(next, { now: start + 2 * minute + 6, view: viewWith() });
  assert.deepEqual([started.phase, started.scheduled?.lastRun], ["Running", start + 2 * minute]);
});

test("Allow starts another run beside the one that lives, and each is cleared away by itself", () => {
  const second = look(busy({ concurrencyPolicy: "Allow" }), { now: start + 2 * minute, view: viewWith() });
  assert.deepEqual([second.record.phase, second.record.run?.id, second.record.others?.map(({ id }) => id)], [
    "Starting",
    "run-2",
    ["run-1"],
  ]);
  const both = step(second.record, { now: start + 2 * minute, view: viewWith(), others: [viewWith()] });
  assert.deepEqual([both.phase, both.others?.length], ["Running", 1]);
  assert.deepEqual([both.scheduled?.lastRun, both.scheduled?.nextRun], [
    start + 2 * minute,
    start + 3 * minute,
  ]);
  const first = look(both, { now: start + 2 * minute, view: viewWith(), others: [over] });
  assert.deepEqual([first.record.others, kinds(first)[0]], [undefined, "cleanUp"]);
  const promoted = step(both, { now: start + 2 * minute, view: over, others: [viewWith()] });
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
  const stopping = step(record, { view: viewWith(), others: [viewWith()] });
  assert.deepEqual(kinds(look(stopping, { view: viewWith(), others: [viewWith()] })), [
    "terminate",
    "terminate",
  ]);
  assert.equal(step(stopping, { view: over, others: [viewWith()] }).phase, "Stopping");
  const last = step(stopping, { view: over, others: [over] });
  assert.deepEqual(kinds(look(last)), ["forget"]);
});

test("the ends of other runs that a stop has brought about are not reported as failures", () => {
  const app = everyMinute({ concurrencyPolicy: "Allow", suspend: true });
  const others = [runOf(app, { id: "run-0" })];
  const record = recordWith({ app, phase: "Running", run: runOf(app), others });
  const stopping = step(record, { view: viewWith(), others: [viewWith()] });
  const terminated = { ...failed, exit: { code: 143, at: start } };
  const { events } = look(stopping, { view: viewWith(), others: [terminated] });
  assert.deepEqual(events.map(({ type, reason }) => [type, reason]), [["Normal", "Stopped"]]);
});

test("what a failed run left behind is stopped, and the other runs live on", () => {
  const app = everyMinute({ concurrencyPolicy: "Allow" });
  const others = [runOf(app, { id: "run-0" })];
  const record = recordWith({ app, phase: "Running", run: runOf(app), others });
  const left = viewWith({ exit: { code: 3, at: start }, launcherAlive: false, processes: [101] });
  const stopping = step(record, { view: left, others: [viewWith()] });
  assert.deepEqual([stopping.phase, stopping.reason], ["Stopping", "ScriptFailed"]);
  const { effects } = look(stopping, { view: left, others: [viewWith()] });
  assert.deepEqual(effects, [{ kind: "terminate", run: stopping.run }]);
  const over = { ...left, processes: [] };
  const next = step(stopping, { view: over, others: [viewWith()] });
  assert.deepEqual([next.phase, next.run?.id, next.lastExit?.code], ["Running", "run-0", 3]);
});

test("a run beside the newest that daemonized is known for it, too", () => {
  const app = everyMinute({ concurrencyPolicy: "Allow" });
  const others = [runOf(app, { id: "run-0" })];
  const record = recordWith({ app, phase: "Running", run: runOf(app), others });
  const exit = { code: 0, at: start, last: "unknown" as const };
  const left = viewWith({ exit, launcherAlive: false, processes: [101] });
  const seen = step(record, { view: viewWith(), others: [left] });
  const rebooted = { ...left, processes: [], rebooted: true };
  const { lastExit } = step(seen, { view: viewWith(), others: [rebooted] });
  assert.equal(lastExit?.reason, "NodeRebooted");
});

test("an app that is withdrawn just as its newest run ends has its other runs stopped before it is forgotten", () => {
  const record = {
    ...busy({ concurrencyPolicy: "Allow" }),
    others: [runOf(everyMinute(), { id: "run-0" })],
    withdrawn: true,
  };
  const left = look(record, { view: over, others: [viewWith()] });
  assert.deepEqual([left.record.run?.id, left.record.others, kinds(left)], ["run-0", undefined, ["cleanUp"]]);
  const stopping = step(left.record, { view: viewWith() });
  assert.deepEqual([stopping.phase, stopping.run?.stop?.reason], ["Stopping", "Deleted"]);
  const last = step(stopping, { view: over });
  assert.deepEqual(kinds(look(last)), ["forget"]);
});

test("a changed schedule counts at once, also while a run lives, and a suspended app keeps no time", () => {
  const changed = { ...busy({}), app: everyMinute({ timeZone: "Asia/Tokyo" }) };
  assert.equal(
    step(changed, { now: start + 90_000, view: viewWith() }).scheduled?.nextRun,
    start + 2 * minute,
  );
  const waiting = step(recordWith({ app: everyMinute() }));
  const suspended = step({ ...waiting, app: everyMinute({ suspend: true }) });
  assert.deepEqual([suspended.reason, suspended.scheduled], ["Suspended", undefined]);
  assert.equal(step(suspended), suspended);
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
    const stopping = step({ ...before, app }, { now: start + minute + 20, view: viewWith() });
    assert.deepEqual([stopping.phase, stopping.reason], ["Stopping", reason]);
    const ended = step(stopping, { now: start + minute + 30, view: over });
    const again = look(ended, { now: start + minute + 30 });
    assert.deepEqual([again.record.phase, kinds(again), again.events], ["Starting", ["start"], []]);
    const begun = step(again.record, { now: start + minute + 31, view: viewWith() });
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
    const stopping = step(busy(app), { now, view: viewWith(), eviction: "memory" });
    const ended = step(stopping, { now, view: over });
    const waiting = look(ended, { now });
    assert.deepEqual([waiting.record.phase, waiting.record.reason, waiting.wakeAt], [
      "Pending",
      "Evicted",
      now + 300_000,
    ]);
    assert.equal(step(waiting.record, { now: now + 300_000 }).phase, "Starting");
  });
}

test("a time that is used up is not used again by a clock that is behind", () => {
  const day = 24 * 60 * minute;
  const nightly: Situation["nextRun"] = (after) => start + (Math.floor((after - start) / day) + 1) * day;
  const scheduled = { schedule: "* * * * * ", lastRun: start + day, nextRun: start + 2 * day };
  const waiting = recordWith({ app: everyMinute(), phase: "Pending", reason: "Scheduled", scheduled });
  const look = (now: number, nextRun = nightly) => step(waiting, { now, nextRun }).scheduled;
  assert.deepEqual(look(start + day - 60 * minute), scheduled);
  // One that goes every minute was set back by an hour: it would wait for all of it.
  const back = start + day - 60 * minute;
  assert.equal(look(back, situation().nextRun)?.nextRun, back + minute);
});
