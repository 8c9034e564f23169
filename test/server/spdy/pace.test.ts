import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { costOf, Pace, sessionPace } from "../../../src/server/spdy/pace.ts";
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
