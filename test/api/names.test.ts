import assert from "node:assert/strict";
import { test } from "node:test";
import { appKey, isSafeName, isSafeNamespace, isSafeUid, keyOf, splitAppKey } from "../../src/api/names.ts";

test("splitAppKey() reverses appKey()", () => {
  assert.equal(appKey("default", "web.1"), "default/web.1");
  assert.deepEqual(splitAppKey("default/web.1"), { namespace: "default", name: "web.1" });
  for (const key of ["", "web", "/web", "default/"]) assert.throws(() => splitAppKey(key), /not an app key/);
});

test("keyOf() puts an app without a namespace into the default one", () => {
  assert.equal(keyOf({ metadata: { namespace: "team", name: "web" } }), "team/web");
  for (const namespace of [undefined, ""]) {
    assert.equal(keyOf({ metadata: { namespace, name: "web" } }), "default/web");
  }
});

test("a safe name cannot escape its folder", () => {
  for (const name of ["a", "web-1", "a.b.c", "x".repeat(253)]) assert.ok(isSafeName(name), name);
  const bad = [
    "",
    ".",
    "..",
    "../a",
    "a/b",
    "a..b",
    ".a",
    "a.",
    "-a",
    "A",
    "a b",
    "a\n",
    "a\0",
    "ä",
    "x".repeat(254),
  ];
  for (const name of bad) assert.ok(!isSafeName(name), JSON.stringify(name));
});

test("a safe namespace is a single DNS label", () => {
  assert.ok(isSafeNamespace("team-1"));
  for (const name of ["", "a.b", "a_b", "-a", "x".repeat(64)]) assert.ok(!isSafeNamespace(name), name);
});

test("a safe uid has only letters, digits and hyphens", () => {
  assert.ok(isSafeUid("3b1f8b9e-54c0-4a53-9f0a-0c2a0f4c7a11"));
  for (const uid of ["", "../x", "a/b", "-a", "a".repeat(64), "a\n"]) {
    assert.ok(!isSafeUid(uid), JSON.stringify(uid));
  }
});
