import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  editEvent,
  mergeDesired,
  newRecord,
  reportInvalid,
} from "../../../src/supervisor/decide/merge-desired.ts";
import { decodeRecord, encodeRecord } from "../../../src/supervisor/records/records.ts";
import type { AppRecord, RunnableApp } from "../../../src/supervisor/types.ts";
import { appWith, recordWith, runOf } from "../fixtures.ts";

const problem = 'spec.cpuPCT: Invalid value: "200"';
const good = appWith({ args: ["a"] });
const running = recordWith({ app: good, phase: "Running", reason: "Running", run: runOf(good) });

function edited(
  generation = 2,
  spec: Parameters<typeof appWith>[0] = { args: ["b"], cpuPCT: 200 },
): RunnableApp {
  const app = appWith(spec);
  return { ...app, metadata: { ...app.metadata, generation } };
}

const merge = (record: AppRecord, app: RunnableApp, invalid?: string) =>
  mergeDesired(record, { app, source: "test", ...(invalid ? { invalid } : {}) }).record;

describe("an invalid edit", () => {
  const told = merge(running, edited(), problem);

  test("leaves the spec and the run alone, and is in the record with its generation", () => {
    assert.deepEqual(told.app.spec, good.spec);
    assert.equal(told.run, running.run);
    assert.deepEqual([told.phase, told.invalid, told.invalidEdit, told.app.metadata.generation], [
      "Running",
      undefined,
      problem,
      2,
    ]);
  });

  test("takes no annotation over, which could ask for a restart", () => {
    const app = appWith({}, { annotations: { "app.example.com/restartedAt": "2030-01-01T00:00:00Z" } });
    assert.deepEqual(merge(running, app, problem).app.metadata.annotations, good.metadata.annotations);
  });

  test("that comes with another source leaves the spec alone, too", () => {
    const { record } = mergeDesired(running, { app: edited(), source: "other", invalid: problem });
    assert.deepEqual([record.source, record.app.spec, record.invalidEdit], ["other", good.spec, problem]);
  });

  test("is forgotten when the spec is valid again", () => {
    const record = merge(told, edited(3, { args: ["c"] }));
    assert.deepEqual([record.invalidEdit, record.invalid, record.app.spec.args], [undefined, undefined, [
      "c",
    ]]);
  });

  test("of an app that never had a valid spec is taken, since there is nothing else to keep", () => {
    const first = newRecord({ app: edited(1), source: "test", invalid: problem });
    const record = merge(first, edited(2, { memPCT: 200 }), "spec.memPCT");
    assert.deepEqual([record.invalid, record.invalidEdit, record.app.spec.memPCT], [
      "spec.memPCT",
      undefined,
      200,
    ]);
  });
});

describe("reportInvalid()", () => {
  const events = (record: AppRecord) => reportInvalid(record).events;
  const after = (record: AppRecord) => reportInvalid(record).record;

  test("makes one warning of an edit, also over a restart of the agent", () => {
    const record = merge(running, edited(), problem);
    assert.deepEqual(events(record), [{
      type: "Warning",
      reason: "InvalidSpec",
      message: `${problem}; the last valid spec stays in force`,
    }]);
    const kept = decodeRecord(encodeRecord(after(record)));
    assert.equal(reportInvalid(kept).record, kept);
    assert.deepEqual(events(kept), []);
    assert.deepEqual(events(merge(kept, edited(3), problem)), []);
  });

  test("makes one warning of a new app whose spec is invalid", () => {
    const record = newRecord({ app: edited(1), source: "test", invalid: problem });
    assert.deepEqual(events(record), [{ type: "Warning", reason: "InvalidSpec", message: problem }]);
    assert.deepEqual(events(after(record)), []);
  });

  test("reports another problem, and the same one when it comes back", () => {
    const record = after(merge(running, edited(), problem));
    assert.equal(events(merge(record, edited(3), "spec.memPCT")).length, 1);
    const valid = merge(record, edited(4, {}));
    assert.deepEqual(events(valid), []);
    assert.equal(events(merge(after(valid), edited(5), problem)).length, 1);
  });

  test("reports nothing for an app that is withdrawn, and leaves the record of a valid one alone", () => {
    const going = { ...merge(running, edited(), problem), withdrawn: true };
    assert.deepEqual(events(going), []);
    assert.equal(after(running), running);
  });
});

test("a deletion reaches an app whose spec is invalid", () => {
  const record = recordWith();
  const { metadata } = record.app;
  const app = { ...record.app, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  const merged = mergeDesired(record, { app, source: record.source, invalid: "spec.cpuPCT: 200" });
  assert.equal(merged.record.app.metadata.deletionTimestamp, "2026-01-01T00:00:00Z");
});

test("an app that its old node has let go no longer says that it waits", () => {
  const waiting = recordWith({ heldBy: "node-b", reason: "StillStopping", message: "waiting" });
  const { record } = mergeDesired(waiting, { app: waiting.app, source: waiting.source });
  assert.deepEqual([record.heldBy, record.reason, record.message], [undefined, "", ""]);
});

describe("an edit", () => {
  const edit = (app: RunnableApp, more: Partial<AppRecord> = {}) =>
    editEvent(running, { ...merge(running, app), ...more });

  test("is told with the names of its fields, its generation and who made it, but not to the API server", () => {
    const event = edit(edited(2, { args: ["secret"], cpuPCT: 20 }), { editedBy: "kubectl-edit" });
    assert.deepEqual([event?.reason, event?.isLocal], ["Edited", true]);
    assert.equal(event?.message, "The spec was changed: args, cpuPCT (generation 2, by kubectl-edit)");
  });

  test("of a manifest is told with its file", () => {
    const event = edit(edited(2, { args: ["b"] }), { origin: "/etc/nckubelet/web.yaml" });
    assert.match(event?.message ?? "", /\(generation 2, in \/etc\/nckubelet\/web.yaml\)$/);
  });

  test("of something else than the spec, and one that is invalid, is not told", () => {
    assert.equal(edit(edited(2, { args: ["a"] })), undefined);
    assert.equal(editEvent(running, merge(running, edited(), problem)), undefined);
    assert.equal(editEvent(running, mergeDesired(running, "withdrawn").record), undefined);
  });

  test("by nobody known takes over no name from the one before", () => {
    assert.equal(merge({ ...running, editedBy: "before" }, edited(2, { args: ["b"] })).editedBy, undefined);
  });
});
