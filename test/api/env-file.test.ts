import assert from "node:assert/strict";
import { test } from "node:test";
import { parseEnvFile, UnclosedQuoteError } from "../../src/api/env-file.ts";

const cases: [text: string, variables: Record<string, string>][] = [
  ["A=1\nB=2\n", { A: "1", B: "2" }],
  ["# c\n; c\n\n  \nA=1", { A: "1" }],
  ["A=1\nA=2\n", { A: "2" }],
  ["A= two words \t\nB=\n", { A: "two words", B: "" }],
  ["A='it # is\n$HOME \\ '\nB=1", { A: "it # is\n$HOME \\ ", B: "1" }],
  ['A="a \\"b\\" \\$x \\\\ \\n \\`"\n', { A: 'a "b" $x \\ \\n `' }],
  ['A="one\\\ntwo"\nB="l1\nl2"\n', { A: "onetwo", B: "l1\nl2" }],
  ["A=one\\\n two\nB=a\\ \\\\b\\c\n", { A: "one two", B: "a \\bc" }],
  ['A=it\'s "fine"\n', { A: `it's "fine"` }],
  ['A="x"y \n', { A: "xy" }],
  ["export A=1\r\nexport  B = 2\r\n", { A: "1", B: "2" }],
  ["\uFEFFA=1", { A: "1" }],
  ["__proto__=1\n", JSON.parse('{"__proto__":"1"}')],
];

for (const [text, variables] of cases) {
  test(`${JSON.stringify(text)} sets ${JSON.stringify(variables)}`, () => {
    assert.deepEqual(Object.fromEntries(parseEnvFile(text).variables), variables);
  });
}

test("lines that are no assignment are returned with their numbers, counted across values of several lines", () => {
  const { variables, others } = parseEnvFile('A="1\n2"\nulimit -n 1024\nB=3\\\n4\nC\n1D=x\n');
  assert.deepEqual(variables, [["A", "1\n2"], ["B", "34"]]);
  assert.deepEqual(others, [
    { line: 3, text: "ulimit -n 1024" },
    { line: 6, text: "C" },
    { line: 7, text: "1D=x" },
  ]);
});

test("a quote that is not closed is an error with the line where it starts", () => {
  for (const text of ["A=1\n\nB='x\nC=1\n", 'A=1\n\nB="x\\"\n', 'A=1\n\nB="']) {
    assert.throws(() => parseEnvFile(text), new UnclosedQuoteError(3));
  }
});

test("a large file takes linear time", () => {
  const size = 1 << 20;
  for (const piece of [" ", "\\", '"', "'", "A", "A=", "A=1\n", "\\\n", "A=x ", "#\\\n"]) {
    const text = `A=${piece.repeat(size / piece.length)}`;
    try {
      parseEnvFile(text);
    } catch (error) {
      assert.ok(error instanceof UnclosedQuoteError);
    }
  }
});
