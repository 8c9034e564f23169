import assert from "node:assert/strict";
import { test } from "node:test";
import { lease } from "../objects.ts";
import { createTestCluster } from "../test-cluster.ts";

const key = "default/web";

test("a node that does not exist is lost after 40 s if apps are bound to it", () => {
  const { cluster, clock, apply } = createTestCluster(["a"]);
  apply("web", { nodeName: "ghost" });
  const stateOf = (name: string) =>
    cluster.liveness.check().find(({ node }) => node.name === name)?.health?.state;
  assert.equal(stateOf("ghost"), "fresh");
  clock.now += 41_000;
  assert.equal(stateOf("ghost"), "lost");
  assert.equal(cluster.snapshot.nodes.length, 1, "it is no candidate");
  cluster.apps.remove(key, "uid-web");
  assert.equal(stateOf("ghost"), undefined);
});

test("a node whose Lease is deleted is silent, and is forgotten when no app is bound to it", () => {
  const { cluster, clock, apply } = createTestCluster(["a", "b"]);
  apply("web", { nodeName: "a" });
  for (const name of ["a", "b"]) cluster.liveness.removeLease(lease(name, clock.now));
  clock.now += 41_000;
  const states = new Map(cluster.liveness.check().map(({ node, health }) => [node.name, health?.state]));
  assert.deepEqual([states.get("a"), states.get("b")], ["lost", undefined]);
});
