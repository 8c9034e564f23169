import assert from "node:assert/strict";
import { test } from "node:test";
import { setLabels } from "../../../src/api/names.ts";
import type { NCApp } from "../../../src/api/types.ts";
import { ncapp } from "../../builders.ts";
import { createRolloutBudget } from "./rollout-budget.ts";

/** An app of a revision, as its agent last reported it: with the newest generation unless `seen` is another. */
function app(
  name: string,
  hash: string,
  generation: number,
  status: NCApp["status"] = {},
  seen = generation,
): NCApp {
  const metadata = { name, uid: name, generation, labels: { [setLabels.revision]: hash } };
  return ncapp({ metadata: metadata as NCApp["metadata"], status: { observedGeneration: seen, ...status } });
}

const ready = { phase: "Running", ready: true } as const;

function start() {
  const budget = createRolloutBudget({ maxUnavailable: 1, forgetMs: 1000 });
  budget.listed(["a", "b", "c"].map((name) => app(name, "old", 1, ready)));
  return budget;
}

test("one app after the other is within the budget", () => {
  const budget = start();
  for (const name of ["a", "b", "c"]) {
    // The status is still that of the old revision.
    assert.deepEqual(budget.applied(app(name, "new", 2, ready, 1), 0), []);
    assert.deepEqual(budget.applied(app(name, "new", 2, ready), 1), []);
  }
});

test("a second app before the first is ready exceeds the budget", () => {
  const budget = start();
  budget.applied(app("a", "new", 2, ready, 1), 0);
  budget.applied(app("a", "new", 2, { phase: "Starting", ready: false }), 0);
  assert.deepEqual(budget.applied(app("b", "new", 2, ready, 1), 1), [
    "a, b are being updated at a time, but maxUnavailable is 1",
  ]);
});

test("an app that is being updated may get another revision", () => {
  const budget = start();
  budget.applied(app("a", "new", 2, ready, 1), 0);
  assert.deepEqual(budget.applied(app("a", "newer", 3, ready, 1), 1), []);
  assert.equal(budget.applied(app("b", "newer", 2, ready, 1), 2).length, 1, "and still counts");
});

test("an app that fails, is deleted, or waited for too long leaves the budget", () => {
  for (
    const leave of [
      (budget: ReturnType<typeof start>) => budget.applied(app("a", "new", 2, { phase: "BackOff" }), 1),
      (budget: ReturnType<typeof start>) => budget.deleted(app("a", "new", 2)),
    ]
  ) {
    const budget = start();
    budget.applied(app("a", "new", 2, ready, 1), 0);
    leave(budget);
    assert.deepEqual(budget.applied(app("b", "new", 2, ready, 1), 2), []);
  }
  const budget = start();
  budget.applied(app("a", "new", 2, ready, 1), 0);
  assert.deepEqual(budget.applied(app("b", "new", 2, ready, 1), 1000), []);
});

test("new apps and apps that a fault ends do not count", () => {
  const budget = start();
  budget.applied(app("a", "old", 1, { phase: "Starting", ready: false }), 0);
  budget.applied(app("d", "old", 1, {}), 0);
  assert.deepEqual(budget.applied(app("b", "new", 2, ready, 1), 1), []);
});
