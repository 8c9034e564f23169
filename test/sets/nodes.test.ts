import assert from "node:assert/strict";
import { test } from "node:test";
import { createNodes } from "../../src/sets/nodes.ts";
import { lease } from "../scheduler/objects.ts";

test("a node is fresh while its Lease is renewed, lost after it expired, and fresh again when it returns", () => {
  let now = Date.parse("2026-01-01T00:00:00Z");
  let changes = 0;
  const nodes = createNodes(() => ({ observed: now, wall: now }), () => void changes++);
  const agent = () => nodes.all.get("n1")?.agent;
  const renew = () => nodes.applyLease(lease("n1", now));
  nodes.applyNode(
    { metadata: { name: "n1", labels: { zone: "a" } } } as Parameters<typeof nodes.applyNode>[0],
  );
  assert.equal(agent(), "none");
  renew();
  assert.deepEqual([agent(), changes], ["fresh", 2]);
  now += 39_000;
  nodes.check();
  assert.deepEqual([agent(), changes], ["fresh", 2]);
  now += 2000;
  nodes.check();
  assert.deepEqual([agent(), changes], ["lost", 3]);
  renew();
  assert.equal(agent(), "fresh");
  nodes.removeNode("n1");
  assert.deepEqual([nodes.all.size, changes], [0, 5]);
});
