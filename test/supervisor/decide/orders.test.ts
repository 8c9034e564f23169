import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NCAppSpec } from "../../../src/api/types.ts";
import {
  mergeDesired,
  mergeOrder,
  type Order,
  refuseOrder,
  type Situation,
} from "../../../src/supervisor/decide/decide.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
import { appWith, recordWith, runOf, start, viewWith } from "../fixtures.ts";
import { look, over as gone, step } from "./decide-fixtures.ts";

const nextYear = start + 365 * 86_400_000;

const order = (record: AppRecord, order: Order) => mergeOrder(record, order, start);

/** Takes steps until nothing changes, or a run is to be started. */
function settle(record: AppRecord, fields: Partial<Situation> = {}): AppRecord {
  const next = step(record, record.run ? { view: gone, ...fields } : fields);
  return next === record || next.phase === "Starting" ? next : settle(next, fields);
}

function inPhase(phase: AppRecord["phase"], spec: NCAppSpec = {}): AppRecord {
  const app = appWith(spec);
  const run = phase === "Running" || phase === "Stopping" ? { run: runOf(app) } : {};
  const ended = { lastHash: runOf(app).hash, failures: 3, retryAt: start + 60_000 };
  return recordWith({ app, phase, reason: "", ...run, ...ended });
}

describe("an app that the operator stops", () => {
  for (const phase of ["Pending", "Running", "BackOff", "Succeeded", "Failed"] as const) {
    test(`while ${phase} becomes Stopped, stays so, and says how to start it`, () => {
      const { phase: after, reason, message, run } = settle(order(inPhase(phase), "stop"));
      assert.deepEqual([after, reason, run], ["Stopped", "StoppedByOperator", undefined]);
      assert.match(
        message,
        /^stopped with 'nckubelet stop' at 2027-\S+Z; 'nckubelet start web' starts it again$/,
      );
    });
  }

  test("stops although its spec is healthy, with an event that names the operator", () => {
    const { record, events } = look(order(inPhase("Running"), "stop"), { view: viewWith() });
    assert.deepEqual([record.phase, record.reason], ["Stopping", "StoppedByOperator"]);
    assert.match(events[0]!.message, /operator of the node/);
  });

  test("stays stopped when its source edits the spec; another object of its name is not stopped", () => {
    const stopped = settle(order(inPhase("Running"), "stop"));
    const edit = { app: appWith({ args: ["new"] }), source: "test" };
    assert.equal(settle(mergeDesired(stopped, edit).record).phase, "Stopped");
    const other = { app: appWith({}, { uid: "uid-2" }), source: "test" };
    assert.equal(mergeDesired(stopped, other).successor, other);
  });

  test("with a schedule keeps no time", () => {
    const scheduled = { schedule: "0 0 1 1 * ", nextRun: start - 1 };
    const record = { ...inPhase("Pending", { schedule: "0 0 1 1 *" }), scheduled };
    assert.equal(settle(order(record, "stop"), { nextRun: () => nextYear }).scheduled, undefined);
  });

  test("in another namespace is named with it", () => {
    const app = appWith({}, { namespace: "shop" });
    assert.match(settle(order(recordWith({ app }), "stop")).message, /nckubelet start shop\/web/);
  });
});

describe("an app that the operator starts", () => {
  for (const phase of ["Pending", "BackOff", "Succeeded", "Failed"] as const) {
    test(`while ${phase} starts now, without its backoff`, () => {
      assert.equal(settle(order(inPhase(phase), "start")).phase, "Starting");
    });
  }

  test("after a stop starts, also if it has not ended yet", () => {
    assert.equal(settle(order(settle(order(inPhase("Running"), "stop")), "start")).phase, "Starting");
    const stopping = step(order(inPhase("Running"), "stop"), { view: viewWith() });
    assert.equal(settle(order(stopping, "start")).phase, "Starting");
  });

  test("while it runs is left alone", () => {
    const running = inPhase("Running");
    assert.equal(order(running, "start"), running);
  });
});

describe("an app that the operator restarts", () => {
  for (const restartPolicy of ["Always", "Never"] as const) {
    test(`stops and runs again, even with restartPolicy ${restartPolicy}`, () => {
      const asked = order(inPhase("Running", { restartPolicy }), "restart");
      const record = step(asked, { view: viewWith() });
      assert.deepEqual([record.phase, record.reason], ["Stopping", "Restarted"]);
      assert.equal(settle(record).phase, "Starting");
      assert.equal(settle(asked).phase, "Starting", "though it ended by itself meanwhile");
    });
  }

  test("starts if it was stopped", () => {
    assert.equal(settle(order(settle(order(inPhase("Running"), "stop")), "restart")).phase, "Starting");
  });

  test("repeats a scheduled run", () => {
    const scheduled = { schedule: "0 0 1 1 * ", lastRun: start, nextRun: nextYear };
    const record = { ...inPhase("Running", { schedule: "0 0 1 1 *" }), retryAt: undefined, scheduled };
    assert.equal(settle(order(record, "restart"), { nextRun: () => nextYear }).phase, "Starting");
  });
});

describe("an app that the operator triggers", () => {
  const spec = { schedule: "0 0 1 1 *" };
  const scheduled = { schedule: "0 0 1 1 * ", nextRun: nextYear };

  for (const phase of ["Pending", "BackOff", "Succeeded"] as const) {
    test(`while ${phase} runs now, and then at its next time`, () => {
      const asked = order({ ...inPhase(phase, spec), scheduled }, "trigger");
      const starting = settle(asked, { nextRun: () => nextYear });
      assert.equal(starting.phase, "Starting");
      const record = step(starting, { view: viewWith(), nextRun: () => nextYear });
      assert.deepEqual([record.phase, record.scheduled], ["Running", { ...scheduled, lastRun: start }]);
    });
  }

  test("is refused without a schedule, while it is stopped, and while a run of Forbid lives", () => {
    const refusals = [
      inPhase("Running"),
      { ...inPhase("Stopped", spec), stoppedAt: start },
      inPhase("Running", spec),
    ].map((record) => refuseOrder(record, "trigger") ?? "");
    assert.match(refusals[0]!, /no schedule: 'nckubelet restart web'/);
    assert.match(refusals[1]!, /'nckubelet start web' comes first/);
    assert.match(refusals[2]!, /concurrencyPolicy Forbid/);
    assert.equal(
      refuseOrder(inPhase("Running", { ...spec, concurrencyPolicy: "Allow" }), "trigger"),
      undefined,
    );
  });
});

test("an app on hold, or one that is being deleted, takes no order", () => {
  const held = recordWith({ hold: "cannot be read" });
  const withdrawn = recordWith({ withdrawn: true });
  for (const name of ["stop", "start", "restart", "trigger"] as const) {
    for (const record of [held, withdrawn]) {
      assert.equal(order(record, name), record);
      assert.ok(refuseOrder(record, name));
    }
  }
});
