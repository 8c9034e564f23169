import assert from "node:assert/strict";
import { test } from "node:test";
import { NodeLeases } from "../../src/kube/node-health.ts";
import { lease } from "../scheduler/objects.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const renewed = (seconds: number) => lease("a", start + seconds * 1000);

/** The Leases by a clock that starts at 0 s. */
function setUp(graceMs?: number) {
  let seconds = 0;
  const leases = new NodeLeases(
    () => ({ observed: seconds * 1000, wall: start + seconds * 1000 }),
    graceMs,
  );
  const at = (time: number) => (seconds = time, leases);
  return { at, stateAt: (time: number) => at(time).health("a")?.state };
}

test("a node is fresh while its Lease is renewed, and lost 40 s after the last renewal", () => {
  const { at, stateAt } = setUp();
  for (const seconds of [0, 10, 20, 30]) assert.equal(at(seconds).apply("a", renewed(seconds)), true);
  assert.equal(at(60).apply("a", renewed(30)), false, "it is only listed again");
  assert.equal(stateAt(70), "fresh");
  assert.deepEqual(at(71).health("a"), { state: "lost", silentMs: 41_000, lostMs: 1000 });
});

test("a node that flaps faster than its Lease lasts is never lost", () => {
  const { at, stateAt } = setUp();
  at(0).apply("a", renewed(0));
  for (let seconds = 39; seconds < 600; seconds += 39) {
    assert.equal(stateAt(seconds), "fresh");
    at(seconds).apply("a", renewed(seconds));
  }
});

test("clocks of other machines do not matter after a renewal was observed", () => {
  const { at, stateAt } = setUp();
  at(0).apply("a", renewed(-3600));
  assert.equal(stateAt(1), "doubtful");
  at(10).apply("a", renewed(-3590));
  assert.equal(stateAt(11), "fresh");
  const fast = setUp();
  fast.at(0).apply("a", renewed(3600));
  assert.equal(fast.stateAt(41), "lost");
});

test("after a start a node with an old Lease gets no apps, and is lost only after an observed silence", () => {
  const { at, stateAt } = setUp();
  at(0).apply("a", renewed(-300));
  assert.deepEqual([stateAt(0), stateAt(40)], ["doubtful", "doubtful"]);
  // How long it had been silent before counts then.
  assert.deepEqual(at(41).health("a"), { state: "lost", silentMs: 341_000, lostMs: 301_000 });
});

test("a Lease has its own duration, which a grace period overrides", () => {
  const own = setUp();
  own.at(0).apply("a", lease("a", start, undefined, 5));
  assert.deepEqual([own.stateAt(5), own.stateAt(6)], ["fresh", "lost"]);
  const given = setUp(20_000);
  given.at(0).apply("a", renewed(0));
  assert.deepEqual([given.stateAt(20), given.stateAt(21)], ["fresh", "lost"]);
  given.at(100).vanish("a");
  assert.deepEqual([given.stateAt(120), given.stateAt(121)], ["fresh", "lost"]);
});

test("a node without a Lease has no health, and one that vanished is lost after 40 s", () => {
  const { at, stateAt } = setUp();
  assert.equal(stateAt(0), undefined);
  at(100).vanish("a");
  assert.deepEqual([stateAt(140), stateAt(141)], ["fresh", "lost"]);
  at(141).delete("a");
  assert.equal(stateAt(141), undefined);
});
