import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../src/api/names.ts";
import { newRecord } from "../../../src/supervisor/decide/decide.ts";
import { guardTable } from "../../../src/supervisor/logs/guard.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
import { appWith } from "../fixtures.ts";

const layout = { stateDir: "/state", logDir: "/logs" };
const logs = { maxBytes: 100_000, maxFiles: 3 };
const run = { id: "a-0123456789", bootId: "", hash: "", createdAt: 0, leaf: "" };

const record = (name: string, fields: Partial<AppRecord> = {}, labels: Record<string, string> = {}) => ({
  ...newRecord({ app: appWith({}, { name, annotations: labels }), source: "test" }),
  ...fields,
});

test("guardTable() has the log of each app that may run, with all that its policy keeps", () => {
  const own = { [annotations.logMaxSize]: "64Ki", [annotations.logMaxFiles]: "2" };
  const records = [record("web", { run }), record("done"), record("held", { hold: "why" }, own)];
  assert.equal(
    guardTable(records, layout, logs),
    "/logs/default_web/app.log\t300000\n/logs/default_held/app.log\t131072\n",
  );
});

test("guardTable() is empty if no app runs", () => {
  assert.equal(guardTable([record("done")], layout, logs), "");
});
