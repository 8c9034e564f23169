import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createStreamMemory, reserved } from "../../../src/server/kubelet/stream-memory.ts";
import { runs } from "../../properties.ts";

test("a holder never has more than half of what the others leave, all never more than there is, and all of it comes back", () => {
  const step = fc.record({
    holder: fc.constantFrom("a", "b", "c"),
    bytes: fc.integer({ min: 1, max: 60 }),
    releases: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const memory = createStreamMemory(100);
      const held: { holder: string; bytes: number; release: () => void }[] = [];
      const sum = (of: (each: typeof held[number]) => boolean) =>
        held.filter(of).reduce((total, { bytes }) => total + bytes, 0);
      for (const { holder, bytes, releases } of steps) {
        if (releases) held.shift()?.release();
        const others = sum((each) => each.holder !== holder);
        const fits = sum((each) => each.holder === holder) + bytes <= (100 - others) / 2;
        const release = memory(holder, bytes);
        assert.equal(release !== undefined, fits);
        if (release) held.push({ holder, bytes, release });
        assert.ok(sum(() => true) <= 100);
      }
      for (const { release } of [...held, ...held]) release();
      assert.ok(memory("a", 50), "releasing twice gives back once");
      assert.equal(memory("a", 1), undefined);
    }),
    runs(300),
  );
});

test("three namespaces that take all they may leave a fourth enough for a command", () => {
  const memory = createStreamMemory();
  const takeAll = (holder: string) => {
    for (let count = 0;; count++) if (!memory(holder, reserved.session)) return count;
  };
  assert.equal(takeAll("namespace one"), 64);
  assert.ok(takeAll("namespace two") > 0 && takeAll("namespace three") > 0);
  assert.ok(memory("namespace four", reserved.session + 2 * reserved.output + reserved.input));
});
