import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCAppSpec, NCAppStatus } from "../../../src/api/types.ts";
import { createRuleReporter } from "../../../src/scheduler/write/write.ts";
import { type StatusChange, statusPatch } from "../../../src/scheduler/write/status-patch.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { quota } from "../objects.ts";
import { createTestCluster } from "../test-cluster.ts";

/** A namespace with a quota of 50, and a reporter whose changes are applied to the apps at once. */
function createScene() {
  const scene = createTestCluster(["a"]);
  const { cluster } = scene;
  cluster.rules.applyQuota(quota("team", { cpuPCT: "50" }));
  const specs = new Map<string, NCAppSpec>();
  const statuses = new Map<string, NCAppStatus>();
  const events: string[] = [];
  const pending = new Set<string>();
  const writes: string[] = [];
  const write = (key: string, change: StatusChange) => {
    const app = cluster.apps.get(key)!;
    const patch = statusPatch(app, change, 0);
    if (!patch) return;
    writes.push(key);
    const status = { ...statuses.get(app.name), ...patch } as NCAppStatus;
    statuses.set(app.name, status);
    scene.apply(app.name, specs.get(app.name), status);
  };
  const newReporter = () =>
    createRuleReporter({
      cluster,
      writer: { write, isPending: (key) => pending.has(key) },
      recorder: { record: (_target, { reason }) => void events.push(reason) },
      log: silentLogger,
    });
  let report = newReporter();
  return {
    cluster,
    events,
    pending,
    writes,
    apply(name: string, spec: NCAppSpec) {
      specs.set(name, spec);
      scene.apply(name, spec, statuses.get(name));
    },
    tick: () => report(cluster.apps.takeGrown()),
    /** The reporter of another scheduler, which finds all apps again. */
    takeOver() {
      report = newReporter();
      report([...cluster.apps]);
    },
    conditionOf(name: string) {
      const found = statuses.get(name)?.conditions?.find(({ type }) => type === "WithinNamespaceRules");
      return found && `${found.status} ${found.reason}`;
    },
  };
}

test("an app that bypasses a quota has a condition until it is within the quota again", () => {
  const { cluster, apply, tick, conditionOf, events, writes } = createScene();
  apply("first", { nodeName: "a", cpuPCT: 40 });
  apply("second", { nodeName: "a", cpuPCT: 30 });
  tick();
  assert.deepEqual([conditionOf("first"), conditionOf("second")], [undefined, "False QuotaBypassed"]);
  apply("first", { nodeName: "a", cpuPCT: 30 });
  tick();
  assert.equal(conditionOf("second"), "False QuotaBypassed");
  assert.equal(writes.length, 1, "a change of the sums alone is not written");
  cluster.rules.applyQuota(quota("team", { cpuPCT: "60" }));
  tick();
  assert.equal(conditionOf("second"), "True WithinRules");
  tick();
  assert.equal(writes.length, 2);
  assert.deepEqual(events, ["QuotaBypassed"]);
});

test("the condition waits for another status change of the app, and is not lost", () => {
  const { apply, tick, conditionOf, pending } = createScene();
  apply("big", { nodeName: "a", cpuPCT: 60 });
  pending.add("default/big");
  tick();
  assert.equal(conditionOf("big"), undefined);
  pending.clear();
  tick();
  assert.equal(conditionOf("big"), "False QuotaBypassed");
});

test("a scheduler that takes over clears the condition of an app that broke a rule before", () => {
  const { cluster, apply, tick, takeOver, conditionOf } = createScene();
  apply("big", { nodeName: "a", cpuPCT: 60 });
  tick();
  cluster.rules.applyQuota(quota("team", { cpuPCT: "70" }));
  takeOver();
  assert.equal(conditionOf("big"), "True WithinRules");
});

test("an app that is no longer bound breaks no rule", () => {
  const { apply, tick, conditionOf } = createScene();
  apply("big", { nodeName: "a", cpuPCT: 60 });
  tick();
  apply("big", { cpuPCT: 60 });
  tick();
  assert.equal(conditionOf("big"), "True WithinRules");
});
