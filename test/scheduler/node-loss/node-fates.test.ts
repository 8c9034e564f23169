import assert from "node:assert/strict";
import { test } from "node:test";
import { createNodeFates } from "../../../src/scheduler/node-loss/node-fates.ts";
import type { NodeLiveness } from "../../../src/scheduler/state/state.ts";
import { NodeEntry } from "../../../src/scheduler/node-entry.ts";
import { app } from "../sample-cluster.ts";

const web = app("web");
const silent = (lostMs: number) => ({ state: "lost", silentMs: lostMs + 40_000, lostMs }) as const;
const nodeWith = (health: NodeLiveness["health"], leaseGone = false): NodeLiveness => ({
  node: new NodeEntry("a"),
  health,
  leaseGone,
});

test("a node is lost for an app once it has been silent for longer than the app tolerates, unless too many are", () => {
  const fates = createNodeFates({ observed: () => 0 });
  const fateOf = (node: NodeLiveness, paused = false) => {
    fates.update([node], paused);
    return fates.of(web, "a");
  };
  assert.equal(fateOf(nodeWith({ state: "fresh" })), "present");
  assert.equal(fateOf(nodeWith({ state: "doubtful" })), "present");
  assert.equal(fateOf(nodeWith(silent(1000))), "silent");
  assert.equal(fateOf(nodeWith(silent(300_000))), "lost");
  assert.equal(fateOf(nodeWith(silent(300_000)), true), "silent");
  assert.equal(fateOf(nodeWith(silent(1000), true), true), "gone", "its Lease was removed on purpose");
});

test("a node without a Lease is gone when none was created for a while", () => {
  let now = 0;
  const fates = createNodeFates({ observed: () => now });
  assert.equal(fates.of(web, "a"), "present");
  now = 41_000;
  assert.equal(fates.of(web, "a"), "gone");
  fates.update([nodeWith({ state: "fresh" })], false);
  assert.equal(fates.of(web, "a"), "present");
  fates.update([], false);
  assert.equal(fates.of(web, "a"), "present", "the time counts again from the start");
});
