import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createFairQueue } from "../../../src/server/listen/fair-queue.ts";
import { runs } from "../../properties.ts";

const bounds = { inFlight: 4, inFlightOfPeer: 2, waiting: 12, waitingOfPeer: 6 };

/** Work that ends when the test says so. */
function queueOfWork() {
  const queue = createFairQueue(bounds);
  const running: { peer: string; end: () => void }[] = [];
  const results: Promise<string | undefined>[] = [];
  return {
    running,
    results,
    add(peer: string) {
      const work = () => new Promise<string>((resolve) => running.push({ peer, end: () => resolve(peer) }));
      results.push(queue(peer, work));
    },
    async end(at: number) {
      running.splice(at, 1)[0]?.end();
      await new Promise(setImmediate);
    },
  };
}

test("whatever peers ask for, the bounds hold and every piece of work ends", async () => {
  const step = fc.oneof(
    fc.record({ add: fc.constantFrom("a", "b", "c", "d") }),
    fc.record({ end: fc.nat(3) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const { running, results, add, end } = queueOfWork();
      for (const each of steps) {
        if ("add" in each) add(each.add);
        else if (running.length > 0) await end(each.end % running.length);
        assert.ok(running.length <= bounds.inFlight);
        for (const [, { length }] of Map.groupBy(running, ({ peer }) => peer)) {
          assert.ok(length <= bounds.inFlightOfPeer);
        }
      }
      while (running.length > 0) await end(0);
      await Promise.all(results);
    }),
    runs(200),
  );
});

test("a peer with much work is served in turns with one that has little, and only its own work is dropped", async () => {
  const { running, results, add, end } = queueOfWork();
  for (const peer of ["a", "b", "c"]) for (let n = 0; n < 8; n++) add(peer);
  add("d");
  const started: string[] = [];
  for (let n = 0; n < 4; n++) {
    await end(0);
    started.push(running.at(-1)!.peer);
  }
  assert.deepEqual(started.sort(), ["a", "b", "c", "d"]);
  while (running.length > 0) await end(0);
  const found = await Promise.all(results);
  assert.equal(found.at(-1), "d");
  assert.ok(found.filter((each) => each === undefined).length > 0);
});
