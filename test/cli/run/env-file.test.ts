import assert from "node:assert/strict";
import { test } from "node:test";
import { parseVariables, readEnvFiles } from "../../../src/cli/run/env-file.ts";
import { UsageError } from "../../../src/cli/command.ts";

test("a file of variables has NAME=VALUE lines, quotes, comments and names of the environment", () => {
  const text =
    '# a comment\n\nA=1\r\nexport B = two words \nC=\'q # "x"\'\nHOME\nUNSET\nconstructor\nD="a=b"\nE=\n';
  assert.deepEqual(parseVariables(text, "f", { HOME: "/root" }), [
    { name: "HOME", value: "/root" },
    { name: "A", value: "1" },
    { name: "B", value: "two words" },
    { name: "C", value: 'q # "x"' },
    { name: "D", value: "a=b" },
    { name: "E", value: "" },
  ]);
});

test("a line that is no variable is refused with its number and without its text", () => {
  assert.throws(() => parseVariables("A=1\npass word=secret\n", "f.env", {}), (error: Error) => {
    assert.ok(error instanceof UsageError);
    return error.message.startsWith("--env-file f.env: line 2: ") && !error.message.includes("secret");
  });
});

test("a file that is missing is refused", async () => {
  await assert.rejects(readEnvFiles(["/no/such.env"], {}), /--env-file \/no\/such\.env: no such file/);
});

test("a quote that is not closed is refused with its line", () => {
  assert.throws(
    () => parseVariables('A=1\nB="two\nC=3\n', "f.env", {}),
    /--env-file f.env: line 2: a quote is not closed/,
  );
});
