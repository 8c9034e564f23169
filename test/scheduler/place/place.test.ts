import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../../../src/scheduler/place/place.ts";
import { describeRequest, explainApp, explanationRows } from "../../../src/scheduler/place/explain.ts";
import { limitRange, node, priorityClass, quota } from "../objects.ts";
import { createTestWorld } from "../test-world.ts";

const options = { policy: "spread", now: 0, random: () => 0 } as const;

test("a bind carries the caps that the namespace gives", () => {
  const { world, apply } = createTestWorld(["a"]);
  world.applyLimitRange(limitRange("team", { default: { cpuPCT: "20" } }));
  apply("web", { memPCT: 5 });
  const verdict = decide(world.app("default/web")!, world, options);
  assert.ok(verdict.kind === "bind");
  assert.deepEqual([verdict.node, verdict.defaults, verdict.app.cpu], ["a", { cpuPCT: "20" }, 20_000]);
});

test("what assumed binds take of a quota is gone for the next app", () => {
  const { world, apply } = createTestWorld(["a"]);
  world.applyQuota(quota("team", { cpuPCT: "50" }));
  for (const name of ["one", "two"]) apply(name, { cpuPCT: 30 });
  world.assume(world.app("default/one")!, "a");
  const verdict = decide(world.app("default/two")!, world, options);
  assert.ok(verdict.kind === "refuse");
  assert.deepEqual(verdict.refusedBy, ["quota"]);
  assert.match(
    verdict.message,
    /exceeded quota: team, requested: cpuPCT=30, used: cpuPCT=30, limited: cpuPCT=50/,
  );
});

test("a PriorityClass that is not there, and a cap that makes no sense, are refused with words", () => {
  const { world, apply } = createTestWorld(["a"]);
  apply("gold", { priorityClassName: "gold" });
  apply("odd", { cpuPCT: "120" });
  const message = (name: string) => {
    const verdict = decide(world.app(`default/${name}`)!, world, options);
    return verdict.kind === "refuse" ? verdict.message : "bound";
  };
  assert.equal(message("gold"), "no PriorityClass with name gold was found");
  assert.match(message("odd"), /"120"/);
});

test("room is made for a higher priority, and never where its class forbids that", () => {
  const { world, apply } = createTestWorld(["a"]);
  world.applyPriorityClass(priorityClass("high", 100));
  world.applyPriorityClass(priorityClass("meek", 100, { preemptionPolicy: "Never" }));
  apply("low", { nodeName: "a", cpuPCT: 80 });
  apply("vip", { cpuPCT: 50, priorityClassName: "high" });
  apply("meek", { cpuPCT: 50, priorityClassName: "meek" });
  const vip = decide(world.app("default/vip")!, world, options);
  assert.ok(vip.kind === "refuse");
  assert.equal(
    vip.message,
    "0/1 nodes are available: 1 cpuPCT (need 50, at most 20 free); ending default/low on node a",
  );
  assert.deepEqual(vip.preemption?.victims.map(({ key }) => key), ["default/low"]);
  const meek = decide(world.app("default/meek")!, world, options);
  assert.ok(meek.kind === "refuse" && meek.preemption === undefined);
});

test("explainApp() shows every node with all that speaks against it, or its points", () => {
  const { world, apply, beat } = createTestWorld(["a", "b"]);
  world.applyNode(node("c", { spec: { unschedulable: true } }));
  beat("c");
  apply("on-a", { nodeName: "a", cpuPCT: 90, memPCT: 90 });
  apply("web", { nodeName: "b", cpuPCT: 20, memPCT: 20 });
  const explanation = explainApp("default/web", world, options)!;
  assert.equal(describeRequest(explanation.app), "default/web: cpuPCT 20, memPCT 20, priority 0");
  assert.equal(explanation.outcome, "bound to b; were it not, it would be bound to b");
  assert.deepEqual(explanationRows(explanation), [
    ["NODE", "FITS", "ALLOCATED", "BALANCE", "LOAD", "AFFINITY", "TAINTS", "TOTAL", "REFUSED BY"],
    ["b", "yes", "160.0", "200.0", "200.0", "0.0", "600.0", "1160.0", ""],
    ["a", "no", "-", "-", "-", "-", "-", "-", "cpuPCT (need 20, 10 free), memPCT (need 20, 10 free)"],
    ["c", "no", "-", "-", "-", "-", "-", "-", "cordoned"],
  ]);
  assert.equal(explainApp("default/none", world, options), undefined);
});
