import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeKeys } from "../../../src/cli/top/keys.ts";

test("decodeKeys() names the keys of the usual terminals", () => {
  const cases: [string, string[]][] = [
    ["q", ["q"]],
    ["/wé日", ["/", "w", "é", "日"]],
    ["\r\n\x7f\b\x03\x1a\x15", [
      "<enter>",
      "<enter>",
      "<backspace>",
      "<backspace>",
      "<ctrl-c>",
      "<ctrl-z>",
      "<ctrl-u>",
    ]],
    ["\x1b[A\x1bOB\x1b[1;5C", ["<up>", "<down>", "<right>"]],
    ["\x1b[H\x1b[1~\x1b[7~\x1bOH", ["<home>", "<home>", "<home>", "<home>"]],
    ["\x1b[F\x1b[4~\x1b[8~\x1bOF", ["<end>", "<end>", "<end>", "<end>"]],
    ["\x1b[5~\x1b[6~", ["<page-up>", "<page-down>"]],
    ["\x1b[200~a\x1b[<0;3;4M\x00\x01b", ["a", "b"]],
    ["\x1bq", ["<escape>", "q"]],
    ["\x1b\x1b[A", ["<escape>", "<up>"]],
  ];
  for (const [text, keys] of cases) {
    assert.deepEqual(decodeKeys(text), { keys, rest: "" }, JSON.stringify(text));
  }
});

test("decodeKeys() keeps the start of a sequence for what comes next, but not without end", () => {
  assert.deepEqual(decodeKeys("a\x1b"), { keys: ["a"], rest: "\x1b" });
  for (const start of ["\x1b[", "\x1bO", "\x1b[1;"]) {
    assert.deepEqual(decodeKeys(start), { keys: [], rest: start });
  }
  assert.deepEqual(decodeKeys(`\x1b[${"1".repeat(5000)}`).rest, "");
});
