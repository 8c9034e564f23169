import assert from "node:assert/strict";
import { test } from "node:test";
import { diffLines } from "../../../src/cli/commands/line-diff.ts";

const diff = (before: string, after: string, context?: number) =>
  diffLines([...before], [...after], context === undefined ? {} : { context }).join(" ");

test("diffLines() marks removed and added lines in the order of the texts", () => {
  assert.equal(diff("abc", "abc"), "");
  assert.equal(diff("abc", "axc"), " a -b +x  c");
  assert.equal(diff("", "ab"), "+a +b");
  assert.equal(diff("ab", ""), "-a -b");
  assert.equal(diff("abcd", "bcde"), "-a  b  c  d +e");
});

test("diffLines() leaves out equal lines that are far from a change", () => {
  assert.equal(diff("abcdefgh", "xbcdefgy", 1), "-a +x  b …  g -h +y");
});

test("diffLines() takes long texts as changed as a whole", () => {
  const lines = Array.from({ length: 3000 }, (_, index) => String(index));
  assert.equal(diffLines(lines, lines).length, 6000);
});
