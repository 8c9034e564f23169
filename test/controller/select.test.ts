import assert from "node:assert/strict";
import { test } from "node:test";
import { selectControllers } from "../../src/controller/select.ts";

const names = { all: ["scheduler", "sets", "identities"], usual: ["scheduler", "sets"] };

for (
  const [flags, expected] of [
    // It has an account of its own.
    [{}, ["scheduler", "sets"]],
    [{ only: "identities" }, ["identities"]],
    [{ only: "sets" }, ["sets"]],
    [{ only: "sets, scheduler" }, ["scheduler", "sets"]],
    [{ without: "sets" }, ["scheduler"]],
    [{ only: "scheduler,sets", without: "sets" }, ["scheduler"]],
  ] as const
) {
  test(`${JSON.stringify(flags)} selects ${expected.join(" and ")}`, () => {
    assert.deepEqual(selectControllers(flags, names), expected);
  });
}

for (
  const [flags, message] of [
    [{ only: "set" }, '--only "set": no controller "set"; use some of scheduler,sets,identities'],
    [{ without: "sets,pods" }, '--without "sets,pods": no controller "pods"; use some of'],
    [{ only: " , " }, '--only " , ": no controller is named; use some of'],
    [{ only: "sets", without: "sets" }, "--only sets --without sets: no controller is left of scheduler"],
  ] as const
) {
  test(`${JSON.stringify(flags)} is refused with flag and value`, () => {
    assert.throws(
      () => selectControllers(flags, names),
      ({ message: text }: Error) => text.startsWith(message),
    );
  });
}
