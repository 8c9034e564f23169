import assert from "node:assert/strict";
import { test } from "node:test";
import { cutText, fitText, textWidth, wrapText } from "../../../src/cli/screen/screen.ts";

test("textWidth() counts the columns of a terminal", () => {
  const widths: [string, number][] = [
    ["", 0],
    ["web", 3],
    ["…▼é", 3],
    ["e\u0301", 1],
    ["日本語", 6],
    ["한글", 4],
    ["ｗｉｄｅ", 8],
    ["🚀", 2],
    ["👩\u200d💻", 4],
    ["❤\ufe0f", 2],
    ["\u{20000}", 2],
  ];
  for (const [text, width] of widths) assert.equal(textWidth(text), width, JSON.stringify(text));
});

test("cutText() and fitText() never cut through a wide character", () => {
  assert.equal(cutText("日本語", 6), "日本語");
  assert.equal(cutText("日本語", 5), "日本…");
  assert.equal(cutText("日本語", 4), "日…");
  assert.deepEqual([cutText("abc", 1), cutText("abc", 0), cutText("", 0)], ["…", "", ""]);
  assert.deepEqual([fitText("ab", 4), fitText("ab", 4, "right"), fitText("日本語", 4)], [
    "ab  ",
    "  ab",
    "日… ",
  ]);
});

test("wrapText() loses nothing, and always ends", () => {
  assert.deepEqual(wrapText("abcdef", 4), ["abcd", "ef"]);
  assert.deepEqual(wrapText("abcd", 4), ["abcd"]);
  assert.deepEqual(wrapText("", 4), [""]);
  assert.deepEqual(wrapText("日本語", 5), ["日本", "語"]);
  assert.deepEqual(wrapText("日a", 1), ["…", "a"]);
});
