import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createStreamMemory } from "../../../src/server/kubelet/stream-memory.ts";
import { runs } from "../../properties.ts";

test("no app, no sender and no listener ever holds more than its limit, and all of it comes back", () => {
  const most = { listener: 100, sender: 70, app: 50 };
  const step = fc.record({
    app: fc.constantFrom("a", "b", "c"),
    sender: fc.constantFrom("x", "y"),
    bytes: fc.integer({ min: 1, max: 60 }),
    releases: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const memory = createStreamMemory(most);
      const held: { app: string; sender: string; bytes: number; release: () => void }[] = [];
      const sum = (of: (each: typeof held[number]) => boolean) =>
        held.filter(of).reduce((total, { bytes }) => total + bytes, 0);
      for (const { app, sender, bytes, releases } of steps) {
        if (releases) held.shift()?.release();
        const fits = sum(() => true) + bytes <= 100 && sum((each) => each.sender === sender) + bytes <= 70 &&
          sum((each) => each.app === app) + bytes <= 50;
        const release = memory({ app, sender }, bytes);
        assert.equal(release !== undefined, fits);
        if (release) held.push({ app, sender, bytes, release });
      }
      for (const { release } of [...held, ...held]) release();
      assert.ok(memory({ app: "a", sender: "x" }, 50), "releasing twice gives back once");
      assert.ok(memory({ app: "b", sender: "y" }, 50));
      assert.equal(memory({ app: "c", sender: "z" }, 1), undefined);
    }),
    runs(300),
  );
});
