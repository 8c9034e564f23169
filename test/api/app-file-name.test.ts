import assert from "node:assert/strict";
import { test } from "node:test";
import { appFileName } from "../../src/api/app-file-name.ts";

test("appFileName() is one path component, and distinguishes long names", () => {
  for (const bad of ["..", ".", "a/b", "", "a_b", "A", "a\n"]) {
    assert.throws(() => appFileName("default", bad), /cannot make a path/);
    assert.throws(() => appFileName(bad, "web"), /cannot make a path/);
  }
  const long = "a".repeat(252);
  const [first, second] = [appFileName("default", `${long}1`), appFileName("default", `${long}2`)];
  assert.notEqual(first, second);
  assert.ok(first.length <= 200);
});
