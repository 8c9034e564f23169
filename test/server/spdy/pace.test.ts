import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  costOf,
  costOfData,
  createPaces,
  holderPace,
  listenerPace,
  Pace,
  sessionPace,
} from "../../../src/server/spdy/pace.ts";
import { runs } from "../../properties.ts";

test("who waits as told never does more than the budget and what was saved up", () => {
  const step = fc.record({ cost: fc.nat(500), idleMs: fc.nat(50) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      let [now, spent] = [0, 0];
      const pace = new Pace({ perSecond: 1000, burst: 300, now: () => now });
      for (const { cost, idleMs } of steps) {
        now += idleMs;
        now += pace.spend(cost);
        spent += cost;
        assert.ok(spent <= 300 + now + 0.001, `${spent} by ${now} ms`);
      }
    }),
    runs(500),
  );
});

test("1000 connections of a port-forward at once are not slowed down, and a flood of headers is", () => {
  const pace = new Pace({ ...sessionPace, now: () => 0 });
  const headers = costOf({ type: "headers", stream: 1, fin: false, block: new Uint8Array() });
  for (let at = 0; at < 2000; at++) assert.equal(pace.spend(headers), 0);
  for (let at = 0; at < 1000; at++) pace.spend(headers);
  assert.ok(pace.spend(headers) > 1000);
});

test("however many connections of one holder work, those of another wait for nothing but their own", () => {
  let now = 0;
  const paces = createPaces({ holder: holderPace, listener: listenerPace, now: () => now });
  const headers = costOf({ type: "headers", stream: 1, fin: false, block: new Uint8Array() });
  const spend = (name: string, cost: number) => Math.max(...paces(name).map((pace) => pace.spend(cost)));
  /** When each connection of the eager one has waited. */
  const due = Array.from({ length: 64 }, () => 0);
  for (; now < 60_000; now++) {
    for (const [at, ms] of due.entries()) {
      for (let next = ms; next <= now; next = due[at]!) due[at] = now + spend("eager", headers);
    }
    if (now % 10 === 0) assert.equal(spend("quiet", 5 * headers), 0, `after ${now} ms`);
  }
  assert.ok(spend("eager", headers) > 0);
});

test("a copy of 50 MB waits for nothing, and one without end moves 50 MB a second", () => {
  let now = 0;
  const pace = new Pace({ ...sessionPace, now: () => now });
  const frame = 16_384;
  let moved = 0;
  for (; moved < 50_000_000; moved += frame) assert.equal(pace.spend(costOfData(frame)), 0);
  for (; now < 60_000; moved += frame) now += pace.spend(costOfData(frame));
  const perSecond = moved / 60 / 1_000_000;
  assert.ok(perSecond > 35 && perSecond < 60, `${perSecond} MB a second`);
});
