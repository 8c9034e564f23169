import assert from "node:assert/strict";
import { test } from "node:test";
import { createNodePresences } from "../../../src/scheduler/node-loss/node-loss.ts";
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
  const presences = createNodePresences({ observed: () => 0 });
  const presenceOf = (node: NodeLiveness, paused = false) => {
    presences.update([node], paused);
    return presences.of(web, "a");
  };
  assert.equal(presenceOf(nodeWith({ state: "fresh" })), "present");
  assert.equal(presenceOf(nodeWith({ state: "doubtful" })), "present");
  assert.equal(presenceOf(nodeWith(silent(1000))), "silent");
  assert.equal(presenceOf(nodeWith(silent(300_000))), "lost");
  assert.equal(presenceOf(nodeWith(silent(300_000)), true), "silent");
  assert.equal(presenceOf(nodeWith(silent(1000), true), true), "gone", "its Lease was removed on purpose");
});

test("a node without a Lease is gone when none was created for a while", () => {
  let now = 0;
  const presences = createNodePresences({ observed: () => now });
  assert.equal(presences.of(web, "a"), "present");
  now = 41_000;
  assert.equal(presences.of(web, "a"), "gone");
  presences.update([nodeWith({ state: "fresh" })], false);
  assert.equal(presences.of(web, "a"), "present");
  presences.update([], false);
  assert.equal(presences.of(web, "a"), "present", "the time counts again from the start");
});
