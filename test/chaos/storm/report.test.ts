import assert from "node:assert/strict";
import { test } from "node:test";
import { createEvents } from "./events.ts";
import { describe, describeFailure } from "./report.ts";
import { createTally } from "./tally.ts";

test("the ring keeps the last events and drops the oldest", () => {
  let time = 0;
  const events = createEvents({ size: 2, now: () => time });
  for (const what of ["one", "two", "three"]) {
    time += 1000;
    events.add(what);
  }
  assert.deepEqual(events.last(), ["    2.0 s  two", "    3.0 s  three"]);
});

test("a tally counts faults and checks, and names a broken invariant once", () => {
  const tally = createTally(["kill"], ["one"]);
  tally.tried("kill");
  tally.checked("one", [], 1);
  tally.checked("one", ["broken"], 2);
  tally.checked("one", ["broken"], 3);
  assert.deepEqual(tally.faults, { kill: 1 });
  assert.deepEqual(tally.checks, { one: 3 });
  assert.deepEqual(tally.violations, [{ invariant: "one", round: 2, what: "broken" }]);
});

test("the report names every fault and check, the broken invariants, the seed and the folder", () => {
  const summary = {
    ...{ seed: 42, minutes: 2, rounds: 3, apps: 4, runs: 5, slowestRestMs: 6000, refused: 7 },
    skipped: ["disk full: cannot mount here"],
    faults: { "kill -9 agent": 8 },
    checks: { "no exit code lost": 9 },
    violations: [{ invariant: "no exit code lost", round: 3, what: "a: ended with 9" }],
  };
  const text = describe(summary).join("\n");
  for (
    const part of [
      /seed 42/,
      /kill -9 agent +8/,
      /no exit code lost +9/,
      /skipped: disk full/,
      /BROKEN in round 3/,
    ]
  ) {
    assert.match(text, part);
  }
  assert.match(
    describeFailure(42, "/kept", ["the last one"]).join("\n"),
    /the last one[\s\S]*seed 42.*\/kept/,
  );
});
