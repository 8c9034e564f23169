import assert from "node:assert/strict";
import { test } from "node:test";
import { findBypasses, isOverQuota } from "../../../src/scheduler/namespaces/namespaces.ts";
import { limitRange, quota } from "../objects.ts";
import { createTestCluster } from "../test-cluster.ts";

/** A namespace with a quota of 100 and caps up to 60. */
function createScene() {
  const scene = createTestCluster(["a", "b"]);
  const { cluster } = scene;
  cluster.rules.applyQuota(quota("team", { cpuPCT: "100" }));
  cluster.rules.applyLimitRange(limitRange("bounds", { max: { cpuPCT: "60" } }));
  /** What broke a rule since the last call. */
  const bypasses = () =>
    findBypasses(cluster.apps.takeGrown(), cluster.rules, cluster.accounts.usage)
      .map(({ app, reason, message }) => `${app.name} ${reason}: ${message}`);
  const isOver = () =>
    [...cluster.rules.allQuotas()].some((one) => isOverQuota(one, cluster.accounts.usage.of("default")));
  return { ...scene, bypasses, isOver };
}

const suffix = "; it was bound or changed without the scheduler, or before this rule";

test("an app that was bound past the quota is reported once, and the app that was there before is not", () => {
  const { apply, bypasses, isOver } = createScene();
  apply("first", { nodeName: "a", cpuPCT: 60 });
  assert.deepEqual([bypasses(), isOver()], [[], false]);
  apply("second", { nodeName: "b", cpuPCT: 50 });
  const message = "exceeded quota: team, requested: cpuPCT=50, used: cpuPCT=60, limited: cpuPCT=100";
  assert.deepEqual([bypasses(), isOver()], [[`second QuotaBypassed: ${message}${suffix}`], true]);
  apply("second", { nodeName: "b", cpuPCT: 50 }, { phase: "Running" });
  assert.deepEqual(bypasses(), []);
});

test("a raised or removed cap is reported, a lowered one and a move are not", () => {
  const { apply, bypasses } = createScene();
  apply("web", { nodeName: "a", cpuPCT: 60 });
  bypasses();
  apply("web", { nodeName: "a", cpuPCT: 70 });
  const limits = "web LimitRangeBypassed: limit range bounds: the maximum cpuPCT per NCApp is 60, but it";
  assert.deepEqual(bypasses(), [`${limits} requests 70${suffix}`]);
  apply("web", { nodeName: "a", cpuPCT: 65 });
  apply("web", { nodeName: "b", cpuPCT: 65 });
  assert.deepEqual(bypasses(), []);
  apply("web", { nodeName: "b" });
  assert.deepEqual(bypasses(), [
    `${limits} has no cap${suffix}`,
    `web QuotaBypassed: failed quota: team: must specify cpuPCT${suffix}`,
  ]);
});

test("what this scheduler bound itself, what has ended and what is gone is not reported", () => {
  const { cluster, apply, bypasses } = createScene();
  apply("own", { cpuPCT: 60 });
  cluster.apps.assume(cluster.apps.get("default/own")!, "a");
  cluster.rules.applyQuota(quota("team", { cpuPCT: "10" }));
  apply("own", { cpuPCT: 60, nodeName: "a" });
  assert.deepEqual(bypasses(), []);
  apply("ended", { cpuPCT: 60, nodeName: "a" }, { phase: "Succeeded" });
  apply("gone", { cpuPCT: 60, nodeName: "a" });
  cluster.apps.remove("default/gone", cluster.apps.get("default/gone")!.uid);
  assert.deepEqual(bypasses(), []);
});

test("if several apps broke a quota before they were known, those that were bound last are reported", () => {
  const { apply, bypasses } = createScene();
  const boundOn = (day: number) => ({
    conditions: [{
      type: "Scheduled",
      status: "True" as const,
      lastTransitionTime: `2025-01-0${day}T00:00:00Z`,
    }],
  });
  apply("third", { nodeName: "a", cpuPCT: 40 }, boundOn(3));
  apply("first", { nodeName: "a", cpuPCT: 40 }, boundOn(1));
  apply("second", { nodeName: "a", cpuPCT: 40 }, boundOn(2));
  assert.deepEqual(bypasses().map((text) => text.split(" ")[0]), ["third"]);
});
