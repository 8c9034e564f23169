import assert from "node:assert/strict";
import { test } from "node:test";
import { createGate } from "../../src/report/circuit-breaker.ts";
import { FakeClock } from "./fake-clock.ts";
import { createTestLog } from "./test-log.ts";

const setUp = () => {
  const clock = new FakeClock();
  const log = createTestLog();
  return { clock, log, gate: createGate({ clock, log, what: "reports", random: () => 0 }) };
};
const failure = new Error("503");

test("createGate() stays open for one app that always fails", () => {
  const { gate } = setUp();
  for (let times = 0; times < 10; times++) gate.failed("default/bad", failure);
  assert.equal(gate.mayPass(3), true);
});

test("createGate() closes when several apps fail, lets one at a time try after growing waits, and opens on success", async () => {
  const { gate, clock } = setUp();
  for (const name of ["a", "b", "c"]) gate.failed(name, failure);
  const waits = [];
  for (const name of ["d", "e", "f", "g", "h", "i", "j"]) {
    assert.equal(gate.mayPass(0), false);
    waits.push(gate.opensAt - clock.now());
    await clock.advance(gate.opensAt - clock.now());
    assert.equal(gate.mayPass(1), false);
    assert.equal(gate.mayPass(0), true);
    gate.failed(name, failure);
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]);
  gate.succeeded();
  assert.equal(gate.mayPass(3), true);
  assert.equal(gate.opensAt, 0);
});

test("createGate() counts failures of different apps only while nothing succeeds", () => {
  const { gate } = setUp();
  for (const name of ["a", "b"]) gate.failed(name, failure);
  gate.succeeded();
  for (const name of ["c", "d"]) gate.failed(name, failure);
  assert.equal(gate.mayPass(3), true);
});

test("createGate() tries again early, but not within a second, when the server was heard", async () => {
  const { gate, clock } = setUp();
  for (const name of ["a", "b", "c", "d", "e", "f"]) gate.failed(name, failure);
  gate.heard();
  assert.equal(gate.opensAt, clock.now() + 1000);
  await clock.advance(5000);
  gate.heard();
  assert.equal(gate.mayPass(0), true);
});

test("createGate() says once that all fail and once that they go through again", async () => {
  const { gate, log, clock } = setUp();
  for (let times = 0; times < 50; times++) {
    gate.failed(`app${times}`, failure);
    await clock.advance(1000);
  }
  gate.succeeded();
  assert.deepEqual(log.lines.slice(2), [
    "warn reports fail; going on slowly",
    "info reports go through again",
  ]);
});
