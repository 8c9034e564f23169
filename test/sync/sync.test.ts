import assert from "node:assert/strict";
import { test } from "node:test";
import type { Desired } from "../../src/api/app-shapes.ts";
import type { NCApp } from "../../src/api/types.ts";
import type { Logger } from "../../src/lib/log.ts";
import { mergeDesired, newRecord } from "../../src/supervisor/decide/decide.ts";
import type { Supervisor } from "../../src/supervisor/supervisor.ts";
import type { AppRecord, RunnableApp } from "../../src/supervisor/types.ts";
import { createSync } from "../../src/sync/sync.ts";
import { ncapp } from "../builders.ts";

/** A sync over a supervisor that only keeps records, as its runners make them. */
function syncOver({ maxApps, order = ["api-server"] }: { maxApps?: number; order?: string[] } = {}) {
  const records = new Map<string, AppRecord>();
  const warnings: string[] = [];
  const spared: string[][] = [];
  let assigned = 0;
  const supervisor = {
    list: () => [...records].map(([key, record]) => ({ key, record })),
    assign(desired: Desired) {
      assigned++;
      const key = `default/${desired.app.metadata.name}`;
      const known = records.get(key);
      records.set(key, known ? mergeDesired(known, desired).record : newRecord(desired));
    },
    withdraw: (key: string) => void records.delete(key),
    hasLost: true,
    removeLost: (wanted: RunnableApp[]) => void spared.push(wanted.map(({ metadata }) => metadata.name)),
  } as unknown as Supervisor;
  const log = { warn: (message: string) => void warnings.push(message) } as unknown as Logger;
  const sync = createSync({ order, supervisor, log, maxApps });
  return {
    sync,
    records,
    spared,
    warnings,
    assigned: () => assigned,
    sink: sync.desired.sinkFor("api-server"),
  };
}

const item = (name: string, spec: NCApp["spec"] = {}, generation = 1, problem = "") => ({
  app: ncapp({ metadata: { name, generation }, spec: { shellFile: "/opt/web.sh", ...spec } }),
  source: "api-server",
  ...(problem ? { invalid: problem } : {}),
});

test("an app beyond --max-apps is a problem with its name, logged once, until there is room for it", () => {
  const { sync, records, warnings, sink } = syncOver({ maxApps: 1 });
  const message =
    "default/two is not started: this node already has 1 apps, the most it may have (--max-apps)";
  sink.replace([item("one"), item("two")]);
  sync.reconcile();
  sync.reconcile();
  assert.deepEqual([...records.keys()], ["default/one"]);
  assert.deepEqual(sync.problems(), [{ message }]);
  assert.deepEqual(warnings, [message]);
  sink.replace([item("two")]);
  sync.reconcile();
  sync.reconcile();
  assert.deepEqual([...records.keys()], ["default/two"]);
  assert.deepEqual(sync.problems(), []);
});

test("an invalid edit reaches the record once, which keeps its spec, and goes when the spec is valid again", () => {
  const { sync, records, sink, assigned } = syncOver();
  const look = () => {
    sync.reconcile();
    sync.reconcile();
    const { app, invalidEdit, invalid } = records.get("default/web")!;
    return [assigned(), app.spec.args, app.metadata.generation, invalidEdit, invalid];
  };
  sink.replace([item("web", { args: ["a"] })]);
  assert.deepEqual(look(), [1, ["a"], 1, undefined, undefined]);
  sink.replace([item("web", { args: ["b"], cpuPCT: 200 }, 2, "spec.cpuPCT: 200")]);
  assert.deepEqual(look(), [2, ["a"], 2, "spec.cpuPCT: 200", undefined]);
  sink.replace([item("web", { args: ["b"] }, 3)]);
  assert.deepEqual(look(), [3, ["b"], 3, undefined, undefined]);
});

test("each problem is logged once, whatever changes beside it, and again when it comes back", () => {
  const { sync, sink, warnings } = syncOver();
  const report = (...messages: string[]) => {
    sink.reportProblems(messages.map((message) => ({ message })));
    sync.reconcile();
    return warnings.splice(0);
  };
  assert.deepEqual(report("a is broken", "b is broken"), ["a is broken", "b is broken"]);
  assert.deepEqual(report("b is broken", "c is broken", "a is broken"), ["c is broken"]);
  assert.deepEqual(report("b is broken"), []);
  assert.deepEqual(report("a is broken", "b is broken"), ["a is broken"]);
});

test("remains of lost apps are removed only when every source has delivered a complete, readable list", () => {
  const { sync, sink, spared, records } = syncOver({ order: ["api-server", "manifests"], maxApps: 1 });
  const manifests = sync.desired.sinkFor("manifests");
  const removals = () => {
    spared.length = 0;
    sync.reconcile();
    return spared;
  };
  assert.deepEqual(removals(), []);
  sink.replace([item("one"), item("left-out")]);
  assert.deepEqual(removals(), []);
  manifests.replace([]);
  assert.deepEqual(removals(), [["one", "left-out"]]);
  manifests.reportProblems([{ message: "apps.yaml cannot be read" }]);
  assert.deepEqual(removals(), []);
  manifests.reportProblems([]);
  assert.deepEqual(removals(), [["one", "left-out"]]);
  // The source of another app is not followed any more: who knows what else it wants.
  records.set("default/old", newRecord({ ...item("old"), source: "manifest-url" } as Desired));
  assert.deepEqual(removals(), []);
});
