import assert from "node:assert/strict";
import { test } from "node:test";
import { node } from "../objects.ts";
import { createTestCluster } from "../test-cluster.ts";

test("a changed Node is one event, and a heartbeat is none", () => {
  const { cluster, takeEvents } = createTestCluster(["a"]);
  takeEvents();
  cluster.applyNode(node("a"));
  assert.deepEqual(takeEvents(), []);
  cluster.applyNode(node("a", { labels: { zone: "b" } }));
  assert.deepEqual(takeEvents(), ["node a"]);
});
