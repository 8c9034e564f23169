import assert from "node:assert/strict";
import { test } from "node:test";
import { stateColor } from "../../../src/cli/screen/paint.ts";

test("an app that waits for its schedule is fine, unless its last run failed", () => {
  const waiting = { phase: "Pending", reason: "Scheduled" } as const;
  assert.equal(stateColor(waiting), "green");
  assert.equal(stateColor({ ...waiting, lastExit: { code: 0, reason: "Completed" } }), "green");
  assert.equal(stateColor({ ...waiting, lastExit: { code: 1, reason: "Error" } }), "yellow");
  assert.equal(stateColor({ phase: "Pending", reason: "ScriptNotFound" }), "yellow");
  assert.equal(stateColor({ phase: "BackOff" }), "red");
});
