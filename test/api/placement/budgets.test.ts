import assert from "node:assert/strict";
import { test } from "node:test";
import { covers, disruptionsLeft, readBudget } from "../../../src/api/placement/budgets.ts";

const object = (given: object = {}) => ({
  metadata: { namespace: "default", name: "web", generation: 2 },
  spec: { selector: { matchLabels: { app: "web" } } },
  status: { observedGeneration: 2, disruptionsAllowed: 2, currentHealthy: 5, expectedPods: 5, ...given },
});
const app = (ready: boolean, changed = false) => ({ ready, changed });

test("readBudget() allows nothing until the controller has seen the newest spec", () => {
  assert.equal(readBudget(object()).allowed, 2);
  assert.equal(readBudget(object({ observedGeneration: 1 })).allowed, 0);
  assert.equal(readBudget({ ...object(), status: undefined }).allowed, 0);
});

test("a budget covers what it selects, and nothing if no Pods stand for apps", () => {
  const budget = readBudget(object());
  assert.equal(covers(budget, { app: "web" }), true);
  assert.equal(covers(budget, { app: "db" }), false);
  assert.equal(covers(readBudget({ ...object(), spec: {} }), { app: "web" }), false);
  assert.equal(covers(readBudget(object({ expectedPods: 0 })), { app: "web" }), false);
});

test("disruptionsLeft() counts apps that the budget has not noticed to be unready", () => {
  const budget = readBudget(object());
  const ready = Array.from({ length: 3 }, () => app(true));
  assert.equal(disruptionsLeft(budget, [...ready, app(true), app(true)]), 2);
  assert.equal(disruptionsLeft(budget, [...ready, app(true), app(false)]), 1);
  assert.equal(disruptionsLeft(budget, [...ready, app(false), app(false)]), 0);
  // It has noticed one; that may be the one that is being evicted, and not the one that was just changed.
  const noticed = readBudget(object({ currentHealthy: 4, disruptionsAllowed: 1 }));
  assert.equal(disruptionsLeft(noticed, [...ready, app(true), app(false)]), 1);
  assert.equal(disruptionsLeft(noticed, [...ready, app(true), app(false, true)]), 0);
});
