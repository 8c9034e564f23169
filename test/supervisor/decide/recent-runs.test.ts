import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { NCAppSpec } from "../../../src/api/types.ts";
import { keepRuns, withRecentRun } from "../../../src/supervisor/decide/recent-runs.ts";
import { statusOf } from "../../../src/supervisor/status.ts";
import type { LastExit, RecentRun } from "../../../src/supervisor/types.ts";
import { runs } from "../../properties.ts";
import { appWith, recordWith, runOf, viewWith } from "../fixtures.ts";
import { exited, step } from "./decide-fixtures.ts";

const ended = (reason: LastExit["reason"], code: number): LastExit => ({ reason, code, message: "secret" });

function runsAfter(exits: LastExit[], spec: NCAppSpec = {}): RecentRun[] {
  return exits.reduce<RecentRun[]>((known, exit) => withRecentRun(known, exit, appWith(spec)), []);
}

test("the end of a run is listed in the status with its times, without the lines of its log", () => {
  const app = appWith();
  const record = recordWith({ app, phase: "Running", run: runOf(app) });
  const once = step(record, { view: exited(3), logTail: "secret" });
  assert.match(once.lastExit?.message ?? "", /secret/);
  const { recentRuns } = statusOf({ record: once });
  assert.deepEqual(recentRuns, [{
    id: "run-1",
    code: 3,
    reason: "Error",
    startedAt: "2027-01-15T08:00:00Z",
    finishedAt: "2027-01-15T08:00:00Z",
  }]);
  const again = { ...once, phase: "Running" as const, run: runOf(app, { id: "run-2" }) };
  const twice = step(again, { view: exited(137, 9) });
  assert.deepEqual(statusOf({ record: twice }).recentRuns?.map(({ code, signal }) => [code, signal]), [
    [137, "SIGKILL"],
    [3, undefined],
  ]);
});

test("runs that ended beside the newest are listed, too", () => {
  const app = appWith({ schedule: "* * * * *", concurrencyPolicy: "Allow" });
  const others = [runOf(app, { id: "run-0" }), runOf(app, { id: "run-00" })];
  const record = recordWith({ app, phase: "Running", run: runOf(app), others });
  const next = step(record, { view: viewWith(), others: [exited(0), exited(1)] });
  assert.deepEqual(next.recentRuns?.map(({ code }) => code), [1, 0]);
});

test("an app that has not ended has no list", () => {
  assert.equal(statusOf({ record: recordWith() }).recentRuns, undefined);
});

test("a limit that is lowered counts at once", () => {
  const recentRuns = runsAfter([ended("Completed", 0), ended("Error", 1), ended("Completed", 0)]);
  const record = recordWith({ app: appWith({ successfulRunsHistoryLimit: 1 }), recentRuns });
  assert.deepEqual(statusOf({ record }).recentRuns?.map(({ code }) => code), [0, 1]);
});

test("at most ten runs are kept, the newest of each kind up to its limit, in their order", () => {
  const exit = fc.constantFrom(ended("Completed", 0), ended("Error", 1), ended("Stopped", 143));
  const limit = fc.option(fc.integer({ min: 0, max: 10 }), { nil: undefined });
  fc.assert(
    fc.property(fc.array(exit, { maxLength: 40 }), limit, limit, (exits, good, bad) => {
      const spec = { successfulRunsHistoryLimit: good, failedRunsHistoryLimit: bad };
      const numbered = exits.map((exit, index) => ({ ...exit, startedAt: String(index) }));
      const kept = runsAfter(numbered, spec);
      const counts = (isGood: boolean) =>
        kept.filter(({ reason }) => (reason === "Completed") === isGood).length;
      assert.ok(kept.length <= 10 && counts(true) <= (good ?? 10) && counts(false) <= (bad ?? 10));
      const order = kept.map(({ startedAt }) => Number(startedAt));
      assert.deepEqual(order, order.toSorted((a, b) => b - a));
      if (good !== 0 && numbered.at(-1)?.reason === "Completed") assert.equal(order[0], numbered.length - 1);
      assert.equal(keepRuns(kept, appWith(spec)), kept);
    }),
    runs(200),
  );
});
