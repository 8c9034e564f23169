import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { reasons } from "../../src/api/reasons.ts";
import { ncapp } from "../../src/api/schema/schema.ts";
import { checkout } from "../harness/parts.ts";

const page = readFileSync(join(checkout, "docs/troubleshooting.md"), "utf8");

/** The words in code font before the colons of all lists. */
const explained = new Set(
  page.split("\n").filter((line) => line.startsWith("- `"))
    .flatMap((line) => [...line.split(/:| \(/)[0]!.matchAll(/`(\w+)`/g)].map(([, word]) => word!)),
);
const phases: readonly string[] = ncapp.properties.status.properties.phase.enum;

test("docs/troubleshooting.md explains every phase and every reason, and nothing else", () => {
  assert.deepEqual([...explained].toSorted(), [...new Set([...phases, ...reasons])].toSorted());
});

test("every reason in the list is one that the source writes", () => {
  const source = globSync("src/**/*.ts", { cwd: checkout, exclude: (path) => path.includes("dashboard") })
    .filter((path) => !path.endsWith("api/reasons.ts"))
    .map((path) => readFileSync(join(checkout, path), "utf8")).join("\n");
  // `${kind}LookupFailed` and members of tables are written without quotes.
  const unused = reasons.filter((reason) => !source.includes(`"${reason}"`) && !/LookupFailed$/.test(reason));
  assert.deepEqual(unused, []);
});

test("a reason is one word that is in the list once", () => {
  assert.equal(new Set(reasons).size, reasons.length);
  for (const reason of reasons) assert.match(reason, /^[A-Z][A-Za-z]+$/);
});
