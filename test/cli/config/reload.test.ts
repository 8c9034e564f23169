import assert from "node:assert/strict";
import { test } from "node:test";
import { planReload } from "../../../src/cli/config/reload.ts";

test("a reload applies the level of the log, and names what needs a restart until it is as it was", () => {
  const started = { "log-level": "info", listen: ":1", "max-apps": "10" };
  const edited = { ...started, "log-level": "debug", listen: ":2" };
  assert.deepEqual(planReload(edited, { started, last: started }), {
    applied: ["log-level"],
    pending: ["listen"],
  });
  assert.deepEqual(planReload(edited, { started, last: edited }), { applied: [], pending: ["listen"] });
  assert.deepEqual(planReload(started, { started, last: edited }), { applied: ["log-level"], pending: [] });
});
