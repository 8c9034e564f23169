/** Nodes as large as an API server accepts: what a scheduler and sets read of one is bounded by its size. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { acceptsNew, firstEviction, keepsOld, readNode } from "../../../src/api/placement/placement.ts";
import { runs } from "../../properties.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute", "", "Other"];

test("a Node with thousands of taints is read in steps that grow with their number, not with its square", () => {
  const taints = Array.from(
    { length: 5000 },
    (_, at) => ({ key: `example.com/taint-${at}`, effect: "NoExecute" }),
  );
  let reads = 0;
  const known = readNode({ spec: { taints } }, [], 1000).taints.map((taint) =>
    new Proxy(taint, {
      get(target, field, receiver) {
        reads++;
        return Reflect.get(target, field, receiver);
      },
    })
  );
  const { taints: again } = readNode({ spec: { taints } }, known, 2000);
  assert.ok(again.every(({ since }) => since === 1000), "each keeps the time at which it was seen first");
  assert.ok(reads < 10 * taints.length, `${reads} reads`);
});

test("whatever a Node says, it is read, and decisions about it are made", () => {
  const name = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "a".repeat(300)));
  const node = fc.record({
    metadata: fc.record({ labels: fc.dictionary(name, fc.string()) }, { requiredKeys: [] }),
    spec: fc.record({
      // The API server refuses two of a kind.
      taints: fc.uniqueArray(
        fc.record({
          key: name,
          value: fc.string(),
          effect: fc.constantFrom(...effects),
          timeAdded: fc.oneof(
            fc.string(),
            fc.constantFrom("2026-01-01T00:00:00Z", "+275760-09-13T00:00:00Z"),
          ),
        }, { requiredKeys: ["key", "effect"] }),
        { selector: ({ key, effect }) => `${key} ${effect}` },
      ),
      unschedulable: fc.boolean(),
    }, { requiredKeys: [] }),
    status: fc.record({
      conditions: fc.array(
        fc.record({ type: fc.constantFrom("Ready", "MemoryPressure", "x"), status: fc.string() }),
      ),
    }, { requiredKeys: [] }),
  }, { requiredKeys: [] });
  const tolerations = fc.array(
    fc.record({
      key: name,
      operator: fc.constantFrom("Exists" as const, "Equal" as const),
      value: fc.string(),
      tolerationSeconds: fc.constantFrom(-(2 ** 53), -1, 0, 60, 2 ** 53),
    }, { requiredKeys: [] }),
  );
  fc.assert(
    fc.property(node, tolerations, (node, tolerations) => {
      const read = readNode(node, [], 1000);
      const again = readNode(node, read.taints, 2000);
      assert.deepEqual(again, read, "reading it again changes nothing");
      const rules = { tolerations };
      const eviction = firstEviction(tolerations, read.taints);
      if (acceptsNew(rules, read)) {
        assert.ok(keepsOld(rules, read), "what is accepted is not evicted at once");
      }
      assert.ok(keepsOld(rules, read) || eviction, "what is not kept is evicted");
      assert.ok(!eviction || !Number.isNaN(eviction.at));
    }),
    runs(300),
  );
});
