import assert from "node:assert/strict";
import { test } from "node:test";
import { placeApp } from "../../../src/scheduler/place/place.ts";
import { describeRequest, explainApp, explanationRows } from "../../../src/scheduler/place/explain.ts";
import { limitRange, node, priorityClass, quota } from "../objects.ts";
import { createTestCluster } from "../test-cluster.ts";

const options = { policy: "spread", now: 0, random: () => 0 } as const;

test("a bind has the default caps of the namespace", () => {
  const { cluster, apply } = createTestCluster(["a"]);
  cluster.rules.applyLimitRange(limitRange("team", { default: { cpuPCT: "20" } }));
  apply("web", { memPCT: 5 });
  const decision = placeApp(cluster.apps.get("default/web")!, cluster, options);
  assert.ok(decision.kind === "bind");
  assert.deepEqual([decision.node, decision.defaults, decision.app.cpu], ["a", { cpuPCT: "20" }, 20_000]);
});

test("assumed binds use up a quota for the next app", () => {
  const { cluster, apply } = createTestCluster(["a"]);
  cluster.rules.applyQuota(quota("team", { cpuPCT: "50" }));
  for (const name of ["one", "two"]) apply(name, { cpuPCT: 30 });
  cluster.apps.assume(cluster.apps.get("default/one")!, "a");
  const decision = placeApp(cluster.apps.get("default/two")!, cluster, options);
  assert.ok(decision.kind === "refuse");
  assert.deepEqual(decision.helpedBy, ["quota", "limitRange"]);
  assert.match(
    decision.message,
    /exceeded quota: team, requested: cpuPCT=30, used: cpuPCT=30, limited: cpuPCT=50/,
  );
});

test("a missing PriorityClass and an invalid cap are refused with a message", () => {
  const { cluster, apply } = createTestCluster(["a"]);
  apply("gold", { priorityClassName: "gold" });
  apply("odd", { cpuPCT: "120" });
  const message = (name: string) => {
    const decision = placeApp(cluster.apps.get(`default/${name}`)!, cluster, options);
    return decision.kind === "refuse" ? decision.message : "bound";
  };
  assert.equal(message("gold"), "no PriorityClass with name gold was found");
  assert.match(message("odd"), /"120"/);
});

test("a higher priority preempts, unless its PriorityClass forbids that", () => {
  const { cluster, apply } = createTestCluster(["a"]);
  cluster.apps.applyPriorityClass(priorityClass("high", 100));
  cluster.apps.applyPriorityClass(priorityClass("meek", 100, { preemptionPolicy: "Never" }));
  apply("low", { nodeName: "a", cpuPCT: 80 });
  apply("vip", { cpuPCT: 50, priorityClassName: "high" });
  apply("meek", { cpuPCT: 50, priorityClassName: "meek" });
  const vip = placeApp(cluster.apps.get("default/vip")!, cluster, options);
  assert.ok(vip.kind === "refuse");
  assert.equal(
    vip.message,
    "0/1 nodes are available: 1 cpuPCT (need 50, at most 20 free); ending default/low on node a",
  );
  assert.deepEqual(vip.preemption?.victims.map(({ key }) => key), ["default/low"]);
  const meek = placeApp(cluster.apps.get("default/meek")!, cluster, options);
  assert.ok(meek.kind === "refuse" && meek.preemption === undefined);
});

test("explainApp() shows every node with all reasons against it, or its points", () => {
  const { cluster, apply, beat } = createTestCluster(["a", "b"]);
  cluster.applyNode(node("c", { spec: { unschedulable: true } }));
  beat("c");
  apply("on-a", { nodeName: "a", cpuPCT: 90, memPCT: 90 });
  apply("web", { nodeName: "b", cpuPCT: 20, memPCT: 20 });
  const explanation = explainApp("default/web", cluster, options)!;
  assert.equal(describeRequest(explanation.app), "default/web: cpuPCT 20, memPCT 20, priority 0");
  assert.equal(explanation.outcome, "bound to node b; if it were not, it would be bound to node b");
  assert.deepEqual(explanationRows(explanation), [
    [
      "NODE",
      "FITS",
      "ALLOCATED",
      "BALANCE",
      "LOAD",
      "LASTING",
      "AFFINITY",
      "TAINTS",
      "SPREAD",
      "TOTAL",
      "REFUSED BY",
    ],
    ["b", "yes", "160.0", "200.0", "200.0", "100000.0", "0.0", "2400.0", "0.0", "102960.0", ""],
    [
      "a",
      "no",
      "-",
      "-",
      "-",
      "-",
      "-",
      "-",
      "-",
      "-",
      "cpuPCT (need 20, 10 free), memPCT (need 20, 10 free)",
    ],
    ["c", "no", "-", "-", "-", "-", "-", "-", "-", "-", "cordoned"],
  ]);
  assert.equal(explainApp("default/none", cluster, options), undefined);
});

test("every refusal names the events that help, except those that only a change of the app helps", () => {
  const { cluster, apply } = createTestCluster();
  const helpedBy = (name: string) => {
    const decision = placeApp(cluster.apps.get(`default/${name}`)!, cluster, options);
    return decision.kind === "bind" ? "bound" : decision.helpedBy;
  };
  apply("web");
  apply("odd", { cpuPCT: "120" });
  assert.deepEqual([helpedBy("web"), helpedBy("odd")], [["node"], []]);
  cluster.rules.applyLimitRange(limitRange("team", { max: { cpuPCT: "20" } }));
  assert.deepEqual(helpedBy("web"), ["limitRange"]);
  cluster.rules.removeLimitRange(limitRange("team", {}));
  cluster.rules.applyQuota(quota("team", { cpuPCT: "50" }));
  assert.deepEqual(helpedBy("web"), ["quota", "limitRange"]);
});
