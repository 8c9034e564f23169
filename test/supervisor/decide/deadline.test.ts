import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NCAppSpec } from "../../../src/api/types.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
import { appWith, recordWith, runOf, start, viewWith } from "../fixtures.ts";
import { everyMinute, exited, kinds, look, step } from "./decide-fixtures.ts";

const late = start + 60_000;

function running(spec: NCAppSpec, fields: Partial<AppRecord> = {}): AppRecord {
  const app = appWith({ activeDeadlineSeconds: 60, ...spec });
  return recordWith({ app, phase: "Running", reason: "Running", run: runOf(app), ...fields });
}

describe("a run with a deadline", () => {
  test("is left alone before it, and looked at again when it is over", () => {
    const record = running({});
    const early = look(record, { now: late - 1, view: viewWith() });
    assert.deepEqual([early.record, early.wakeAt], [record, late]);
  });

  test("is stopped when it takes longer, which is a warning", () => {
    const { record, events } = look(running({}), { now: late, view: viewWith() });
    assert.deepEqual([record.phase, record.reason, record.run?.stop?.reason], [
      "Stopping",
      "DeadlineExceeded",
      "DeadlineExceeded",
    ]);
    assert.deepEqual(events.map(({ type, message }) => [type, message]), [
      ["Warning", "Stopping: the run took too long: activeDeadlineSeconds is 60"],
    ]);
  });

  for (const restartPolicy of ["Always", "OnFailure", "Never"] as const) {
    for (const [how, code] of [["its SIGTERM", 143], ["status 0", 0]] as const) {
      test(`that then ended with ${how} has failed for good under ${restartPolicy}`, () => {
        const stopping = step(running({ restartPolicy }), { now: late, view: viewWith() });
        const ended = step(stopping, { now: late, view: exited(code) });
        assert.deepEqual([ended.phase, ended.reason, ended.lastExit?.reason], [
          "Failed",
          "DeadlineExceeded",
          "DeadlineExceeded",
        ]);
        assert.match(ended.lastExit?.message ?? "", /activeDeadlineSeconds is 60/);
        assert.equal(step(ended, { now: late + 3_600_000 }), ended, "it is not started again");
      });
    }
  }

  test("waits for the next time of its schedule, even under OnFailure", () => {
    const app = everyMinute({ activeDeadlineSeconds: 60, restartPolicy: "OnFailure" });
    const scheduled = { schedule: "* * * * * ", lastRun: start, nextRun: start + 120_000 };
    const record = recordWith({ app, phase: "Running", run: runOf(app), scheduled });
    const stopping = step(record, { now: late, view: viewWith() });
    const ended = step(stopping, { now: late, view: exited(143) });
    const waiting = step(ended, { now: late });
    assert.deepEqual([waiting.phase, waiting.reason, waiting.scheduled?.nextRun], [
      "Pending",
      "Scheduled",
      start + 120_000,
    ]);
  });

  test("is stopped alone, beside others that are younger", () => {
    const app = everyMinute({ activeDeadlineSeconds: 50, concurrencyPolicy: "Allow" });
    const over = start + 50_000;
    const young = runOf(app, { id: "run-2", startedAt: start + 30_000 });
    const scheduled = { schedule: "* * * * * ", lastRun: start, nextRun: start + 60_000 };
    const record = recordWith({ app, phase: "Running", run: young, others: [runOf(app)], scheduled });
    assert.equal(look(record, { now: over - 1, view: viewWith(), others: [viewWith()] }).wakeAt, over);
    const stopping = step(record, { now: over, view: viewWith(), others: [viewWith()] });
    const terminate = look(stopping, { now: over, view: viewWith(), others: [viewWith()] });
    assert.deepEqual(terminate.effects, [{ kind: "terminate", run: stopping.run }]);
    assert.deepEqual([stopping.run?.id, stopping.others?.map(({ stop }) => stop)], ["run-1", [undefined]]);
    const next = look(stopping, { now: over, view: exited(143), others: [viewWith()] });
    assert.deepEqual([next.record.phase, next.record.run?.id, kinds(next)], ["Running", "run-2", [
      "cleanUp",
    ]]);
  });

  test("gets a new one by an edit while it runs", () => {
    const record = running({ activeDeadlineSeconds: 3600 });
    assert.equal(step(record, { now: late, view: viewWith() }), record);
    const edited = { ...record, app: running({}).app };
    assert.equal(step(edited, { now: late, view: viewWith() }).reason, "DeadlineExceeded");
  });
});
