import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Clocks,
  nodeHealth,
  type ObservedLease,
  observeLease,
  vanishedLease,
} from "../../src/kube/node-health.ts";
import { lease } from "../scheduler/objects.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const at = (seconds: number): Clocks => ({ observed: seconds * 1000, wall: start + seconds * 1000 });
const renewed = (seconds: number) => lease("a", start + seconds * 1000);
const stateAt = (seen: ObservedLease | undefined, seconds: number) => nodeHealth(seen, at(seconds))?.state;

test("a node is fresh while its Lease is renewed, and lost 40 s after the last renewal", () => {
  let seen = observeLease(undefined, renewed(0), at(0));
  for (const seconds of [10, 20, 30]) seen = observeLease(seen, renewed(seconds), at(seconds));
  assert.equal(stateAt(seen, 70), "fresh");
  assert.deepEqual(nodeHealth(seen, at(71)), { state: "lost", silentMs: 41_000, lostMs: 1000 });
});

test("a node that flaps faster than its Lease lasts is never lost", () => {
  let seen = observeLease(undefined, renewed(0), at(0));
  for (let seconds = 39; seconds < 600; seconds += 39) {
    assert.equal(stateAt(seen, seconds), "fresh");
    seen = observeLease(seen, renewed(seconds), at(seconds));
  }
});

test("clocks of other machines do not matter after a renewal was observed", () => {
  const skewed = (seconds: number) => renewed(seconds - 3600);
  let seen = observeLease(undefined, skewed(0), at(0));
  assert.equal(stateAt(seen, 1), "doubtful");
  seen = observeLease(seen, skewed(10), at(10));
  assert.equal(stateAt(seen, 11), "fresh");
  const fast = observeLease(undefined, renewed(3600), at(0));
  assert.equal(stateAt(fast, 41), "lost");
});

test("after a start a node with an old Lease gets no apps, and is lost only after an observed silence", () => {
  const seen = observeLease(undefined, renewed(-300), at(0));
  assert.equal(stateAt(seen, 0), "doubtful");
  assert.equal(stateAt(seen, 40), "doubtful");
  // How long it had been silent before counts then.
  assert.deepEqual(nodeHealth(seen, at(41)), { state: "lost", silentMs: 341_000, lostMs: 301_000 });
});

test("a Lease has its own duration", () => {
  const seen = observeLease(undefined, lease("a", start, undefined, 5), at(0));
  assert.deepEqual([stateAt(seen, 5), stateAt(seen, 6)], ["fresh", "lost"]);
});

test("the scheduler's grace period overrides the duration of Leases", () => {
  const seen = observeLease(undefined, renewed(0), at(0), 20_000);
  assert.deepEqual([stateAt(seen, 20), stateAt(seen, 21)], ["fresh", "lost"]);
  const gone = vanishedLease(at(100), 20_000);
  assert.deepEqual([stateAt(gone, 120), stateAt(gone, 121)], ["fresh", "lost"]);
});

test("a node without a Lease has no health, and one that vanished is lost after 40 s", () => {
  assert.equal(nodeHealth(undefined, at(0)), undefined);
  const seen = vanishedLease(at(100));
  assert.deepEqual([stateAt(seen, 140), stateAt(seen, 141)], ["fresh", "lost"]);
});
