import assert from "node:assert/strict";
import { test } from "node:test";
import { mergePatch } from "../../src/lib/objects.ts";
import { applyMergePatch } from "../kube/fake-api.ts";

test("mergePatch() returns a patch that turns any object into any other, and undefined for equal ones", () => {
  for (let round = 0; round < 2000; round++) {
    const [from, to] = [randomObject(3), randomObject(3)];
    const patch = mergePatch(from, to);
    assert.deepEqual(applyMergePatch(from, patch ?? {}), to, JSON.stringify({ from, to, patch }));
    assert.equal(mergePatch(to, structuredClone(to)), undefined);
  }
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

function randomObject(depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const field of ["a", "b", "c", "constructor"]) {
    if (Math.random() < 0.6) object[field] = randomValue(depth);
  }
  return object;
}

function randomValue(depth: number): unknown {
  const kind = Math.floor(Math.random() * (depth > 0 ? 5 : 3));
  if (kind === 0) return Math.floor(Math.random() * 3);
  if (kind === 1) return ["x", "y", ""][Math.floor(Math.random() * 3)];
  if (kind === 2) return Math.random() < 0.5;
  if (kind === 3) return [randomObject(depth - 1), Math.floor(Math.random() * 2)];
  return randomObject(depth - 1);
}
