import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cronFields, cronProblem } from "../../../src/api/rules/cron.ts";
import { cronItemPattern } from "../../../src/api/rules/schedule.ts";
import { mostly, runs } from "../../properties.ts";

const patterns = cronFields.map((field) => new RegExp(cronItemPattern(field).replace("(?i)", ""), "i"));

/** What the rules for API servers accept, as far as patterns decide it. */
function isAcceptedByServer(schedule: string): boolean {
  const parts = schedule.split(" ").filter((part) => part !== "");
  return parts.length >= 5 && parts.length <= 6 && parts.every((part, index) => {
    const field = index + cronFields.length - parts.length;
    const isAny = part === "?" && cronFields[field]!.name.startsWith("day");
    return isAny || part.split(",").every((item) => patterns[field]!.test(item));
  });
}

test("an API server refuses no schedule that an agent accepts, and accepts no other but backward ranges and days that no month has", () => {
  const number = fc.oneof(
    fc.integer({ min: 0, max: 62 }).map(String),
    fc.constantFrom("00", "07", "JAN", "Fri", "x", ""),
  );
  const range = fc.tuple(number, number).map((ends) => ends.join("-"));
  const step = fc.tuple(fc.oneof(fc.constant("*"), range, number), number).map((sides) => sides.join("/"));
  const item = fc.oneof(fc.constant("*"), number, range, step, fc.constant("?"));
  const field = mostly(
    "*",
    60,
    fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(",")),
  );
  const schedule = fc.array(field, { minLength: 4, maxLength: 7 }).map((fields) => fields.join(" "));
  fc.assert(
    fc.property(schedule, (text) => {
      const problem = cronProblem(text);
      if (isAcceptedByServer(text) === (problem === undefined)) return;
      assert.ok(problem !== undefined, `the server refuses ${text}`);
      const backwards = /^"(\w+)-(\w+)(\/\d+)?" is not a valid/.test(problem);
      assert.ok(backwards || / has no day /.test(problem), `the server accepts ${text}: ${problem}`);
    }),
    runs(2000),
  );
});
