import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { mergePatch } from "../../src/lib/objects.ts";
import { applyMergePatch } from "../kube/fake-api.ts";
import { runs } from "../properties.ts";

test("mergePatch() returns a patch that turns any object into any other, and undefined for equal ones", () => {
  fc.assert(
    fc.property(anyObject(3), anyObject(3), (from, to) => {
      const patch = mergePatch(from, to);
      assert.deepEqual(applyMergePatch(from, patch ?? {}), to, JSON.stringify(patch));
      assert.equal(mergePatch(to, structuredClone(to)), undefined);
    }),
    runs(2000),
  );
});

test("mergePatch() names only the fields that differ", () => {
  const from = { phase: "Running", restarts: 1, lastExit: { code: 1, reason: "Error" }, pid: 7 };
  const to = { phase: "BackOff", restarts: 1, lastExit: { code: 2, reason: "Error" } };
  assert.deepEqual(mergePatch(from, to), { phase: "BackOff", lastExit: { code: 2 }, pid: null });
});

test("mergePatch() treats undefined as absent", () => {
  assert.deepEqual(mergePatch({ a: 1, b: undefined }, { a: undefined, b: undefined, c: undefined }), {
    a: null,
  });
  assert.equal(mergePatch({}, { a: undefined }), undefined);
});

/** An object with some of a few fields, so that two of them have fields in common. */
function anyObject(depth: number): fc.Arbitrary<Record<string, unknown>> {
  const value = anyValue(depth);
  const fields = { a: value, b: value, c: value, constructor: value };
  return fc.record(fields, { requiredKeys: [], noNullPrototype: true });
}

function anyValue(depth: number): fc.Arbitrary<unknown> {
  const plain = [fc.nat(2), fc.constantFrom("x", "y", ""), fc.boolean()];
  if (depth === 0) return fc.oneof(...plain);
  const object = anyObject(depth - 1);
  return fc.oneof(...plain, fc.tuple(object, fc.nat(1)), object);
}
