import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { hasVisibleCause, retryFailedStart, retryMessage } from "../../../src/supervisor/decide/decide.ts";
import { backoffMs } from "../../../src/supervisor/decide/retry.ts";
import type { AppRecord, StartProblem } from "../../../src/supervisor/types.ts";
import { runs } from "../../properties.ts";
import { appWith, recordWith, runOf, start, viewWith } from "../fixtures.ts";
import { look, step } from "./decide-fixtures.ts";

const nothingYet = viewWith({ claim: "none", started: undefined, processes: [], launcherAlive: false });
const missing: StartProblem = { reason: "ScriptNotFound", message: "no such file" };
const secondMs = 1000;

/** A clock and an app; `fails` and `ends` return how long the app then waits. */
function createWorld() {
  let now = start;
  let record: AppRecord = recordWith();
  const waits = () => (record.retryAt ?? now) - now;
  const begin = () => {
    now = Math.max(now, record.retryAt ?? now);
    record = step(record, { now });
    assert.equal(record.phase, "Starting");
  };
  return {
    get record() {
      return record;
    },
    get now() {
      return now;
    },
    fails(problem = missing): number {
      begin();
      record = step(record, { now, view: nothingYet, problem, nextRun: undefined });
      return waits();
    },
    ends(ranMs: number, code = 1): number {
      begin();
      const mark = { at: now, main: { pid: 100, startTime: "7" } };
      record = step(record, { now, view: viewWith({ started: mark }) });
      now += ranMs;
      const exit = { code, at: now };
      record = step(record, {
        now,
        view: viewWith({ started: mark, exit, processes: [], launcherAlive: false }),
      });
      return waits();
    },
  };
}

const seconds = (waits: number[]) => waits.map((wait) => wait / secondMs);

describe("an app that ended", () => {
  test("after it ran for ten seconds starts again at once, then after 10 s, doubling to 300 s", () => {
    const world = createWorld();
    const waits = Array.from({ length: 8 }, () => world.ends(10 * secondMs));
    assert.deepEqual(seconds(waits), [0, 10, 20, 40, 80, 160, 300, 300]);
  });

  test("within ten seconds waits from the first time", () => {
    const world = createWorld();
    assert.deepEqual(seconds([1, 9999, 10_000].map((ranMs) => world.ends(ranMs))), [10, 20, 40]);
  });

  test("after ten healthy minutes starts again at once, whatever was before", () => {
    const world = createWorld();
    for (let at = 0; at < 5; at++) world.ends(1);
    assert.deepEqual(seconds([world.ends(600 * secondMs), world.ends(600 * secondMs), world.ends(1)]), [
      0,
      0,
      10,
    ]);
  });

  test("never waits less than a second, nor more than its maximum", () => {
    assert.equal(backoffMs(appWith({ backoffSeconds: 0, maxBackoffSeconds: 0 }), 5), secondMs);
    assert.equal(backoffMs(appWith({ backoffSeconds: 1, maxBackoffSeconds: 4 }), 9), 4 * secondMs);
  });
});

describe("a start that could not happen", () => {
  test("is tried again after a second, doubling to 30 s, and counts from one again once a script has started", () => {
    const world = createWorld();
    const waits = Array.from({ length: 7 }, () => world.fails());
    assert.deepEqual(seconds(waits), [1, 2, 4, 8, 16, 30, 30]);
    assert.equal(world.ends(20 * secondMs), 0, "its first crash restarts at once");
    assert.deepEqual(seconds([world.fails(), world.fails()]), [1, 2]);
  });

  test("is looked at every two seconds while its cause can be seen, and tried as soon as that is gone", () => {
    const world = createWorld();
    for (let at = 0; at < 6; at++) world.fails();
    const { record, now } = world;
    const waiting = look(record, { now });
    assert.deepEqual([waiting.record, waiting.wakeAt], [record, now + 2 * secondMs]);
    assert.equal(step(record, { now: now + 2 * secondMs, causeGone: true }).phase, "Starting");
  });

  test("waits for its time if nothing on the node shows its cause", () => {
    const world = createWorld();
    for (let at = 0; at < 6; at++) world.fails({ reason: "DownloadFailed", message: "503" });
    const { record, now } = world;
    assert.deepEqual([hasVisibleCause(record), look(record, { now }).wakeAt], [false, record.retryAt]);
  });

  test("is tried at once by a new agent", () => {
    const world = createWorld();
    for (let at = 0; at < 6; at++) world.fails({ reason: "LimitsUnavailable", message: "no cpu controller" });
    assert.equal(step(retryFailedStart(world.record), { now: world.now }).phase, "Starting");
    const crashed = createWorld();
    crashed.ends(1);
    assert.equal(retryFailedStart(crashed.record), crashed.record, "but a crash keeps its wait");
  });
});

describe("the message about the next try", () => {
  test("has its time", () => {
    const world = createWorld();
    world.fails();
    assert.equal(retryMessage(world.record), "next try at 2027-01-15T08:00:01Z");
    world.ends(500);
    assert.equal(retryMessage(world.record), "restarting at 2027-01-15T08:00:12Z", "not before it");
  });

  test("says that a restart comes now, and nothing about an app that runs or is done", () => {
    const world = createWorld();
    world.ends(10 * secondMs);
    assert.equal(retryMessage(world.record), "restarting now");
    for (const phase of ["Running", "Failed", "Succeeded", "Stopped"] as const) {
      assert.equal(retryMessage({ ...world.record, phase, retryAt: start }), "");
    }
  });
});

/** Starts that fail, and runs of so many milliseconds. */
const history = fc.array(
  fc.oneof(fc.constant("fails" as const), fc.constantFrom(1, 5000, 10_000, 60_000, 600_000)),
  { maxLength: 40 },
);

test("in every history, failed starts change nothing about the waits after runs, and no wait is out of bounds", () => {
  fc.assert(
    fc.property(history, (steps) => {
      const [mixed, pure] = [createWorld(), createWorld()];
      let atOnce = 0;
      for (const next of steps) {
        if (next === "fails") {
          const wait = mixed.fails();
          assert.ok(wait >= secondMs && wait <= 30 * secondMs, `${wait}`);
          continue;
        }
        const wait = mixed.ends(next);
        assert.equal(wait, pure.ends(next));
        assert.ok(wait === 0 || wait >= 10 * secondMs && wait <= 300 * secondMs, `${wait}`);
        atOnce = wait === 0 && next < 600_000 ? atOnce + 1 : 0;
        assert.ok(atOnce <= 1, "not twice in a row at once");
        assert.ok(wait > 0 || next >= 10_000, "a script that ends soon is never started at once");
      }
    }),
    runs(300),
  );
});

test("an app that changes is tried at once, and its failed starts count from one", () => {
  const app = appWith();
  const record = recordWith({ app, lastHash: runOf(app).hash, failedStarts: 6, retryAt: start + 30_000 });
  const edited = { ...record, app: appWith({ shellFile: "/opt/other.sh" }) };
  const starting = step(edited);
  assert.equal(starting.phase, "Starting");
  assert.equal(step(starting, { view: nothingYet, problem: missing }).retryAt, start + secondMs);
});
