/** Objects that are huge, deep or strange: validation ends, throws nothing, and says little. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { joinMessages } from "../../../src/api/field-error.ts";
import { spec as specSchema } from "../../../src/api/schema/schema.ts";
import { validateNCApp, validateNCAppSet, validateWritten } from "../../../src/api/validate/validate.ts";
import { joinProblems } from "../../../src/sources/source.ts";
import { runs } from "../../properties.ts";
import { appWith } from "../samples.ts";
import { setSpecWith, setWith } from "../set-samples.ts";

const json = fc.jsonValue({ maxDepth: 4 });
const huge = fc.constantFrom<unknown>(
  "x".repeat(100_000),
  "://".repeat(30_000),
  "a.".repeat(50_000),
  "9".repeat(100_000),
  Array.from({ length: 5_000 }, () => ({})),
  Array.from({ length: 5_000 }, (_, at) => ({ name: `A${at}`, port: 0, operator: "In", valueFrom: {} })),
  Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`key-${at}`, "-"])),
  JSON.parse('{"__proto__": {"constructor": []}, "constructor": 1, "toString": null}'),
  2 ** 53,
  -1e308,
);
const fields = fc.dictionary(fc.constantFrom(...Object.keys(specSchema.properties)), fc.oneof(json, huge), {
  maxKeys: 4,
});

/** As long as a status and an event bear. */
const longest = 20_000;

test("every problem of an NCApp fits into a short text", () => {
  fc.assert(
    fc.property(fields, (spec) => {
      for (const validate of [validateNCApp, validateWritten]) {
        const errors = validate(appWith(spec));
        assert.ok(errors.length <= 25_000, `${errors.length} errors`);
        assert.ok(joinMessages(errors).length <= longest);
        assert.ok(
          (joinProblems(errors.map(({ message }) => ({ message, origin: "x" }))) ?? "").length <= longest,
        );
      }
    }),
    runs(80),
  );
});

test("every problem of an NCAppSet does, also of its template and its overrides", () => {
  const set = fc.record({
    app: fields,
    patch: fields,
    others: fc.dictionary(
      fc.constantFrom("replicas", "update", "selector", "overrides"),
      fc.oneof(json, huge),
      {
        maxKeys: 2,
      },
    ),
  });
  fc.assert(
    fc.property(set, ({ app, patch, others }) => {
      const overrides = [{ nodeSelector: { zone: "lab" }, patch: { spec: patch } }];
      const errors = validateNCAppSet(setWith(setSpecWith({ overrides, ...others }, app)));
      assert.ok(joinMessages(errors).length <= longest);
    }),
    runs(80),
  );
});

test("joinMessages() says how many more there are", () => {
  const problems = Array.from({ length: 22 }, (_, at) => ({ message: `m${at}` }));
  assert.match(joinMessages(problems), /^m0; .*; m19; and 2 more$/);
  assert.equal(joinMessages(problems.slice(0, 2)), "m0; m1");
});
