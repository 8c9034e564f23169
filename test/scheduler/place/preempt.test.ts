import assert from "node:assert/strict";
import { test } from "node:test";
import { preempt } from "../../../src/scheduler/place/preempt.ts";
import { noticeMs, readBudget } from "../../../src/api/placement/placement.ts";
import { Budgets } from "../../../src/scheduler/state/state.ts";
import type { SchedulerApp } from "../../../src/scheduler/types.ts";
import { app, facts, snapshotOf } from "../sample-cluster.ts";

const options = { policy: "spread", now: 0 } as const;
const at = (priority: number, cpuPCT: number, name: string, more: Partial<SchedulerApp> = {}) =>
  app(name, { cpuPCT }, { priority, ...more });
const keys = (victims: SchedulerApp[] | undefined) => victims?.map(({ key }) => key).sort();

test("preempt() chooses the node with the lowest highest victim priority", () => {
  const snapshot = snapshotOf({ a: {}, b: {} });
  snapshot.place(at(50, 100, "dear"), "a");
  for (const name of ["one", "two"]) snapshot.place(at(10, 50, name), "b");
  assert.deepEqual(keys(preempt(at(100, 80, "vip"), snapshot, options)?.victims), [
    "default/one",
    "default/two",
  ]);
});

test("among equal priorities the fewest victims are chosen", () => {
  const snapshot = snapshotOf({ a: {}, b: {} });
  for (const name of ["a1", "a2", "a3", "a4"]) snapshot.place(at(10, 25, name), "a");
  snapshot.place(at(10, 90, "b1"), "b");
  snapshot.place(at(10, 10, "b2"), "b");
  const found = preempt(at(100, 60, "vip"), snapshot, options);
  assert.deepEqual([found?.node, keys(found?.victims)], ["b", ["default/b1"]]);
});

test("apps of equal or higher priority, mirrors, apps of other schedulers, and apps that are being deleted are never victims", () => {
  for (
    const more of [{}, { mirror: true, priority: 1 }, { ours: false, priority: 1 }, {
      deleting: true,
      priority: 1,
    }]
  ) {
    const snapshot = snapshotOf({ a: {} });
    snapshot.place(at(100, 100, "there", more), "a");
    assert.equal(preempt(at(100, 10, "vip"), snapshot, options), undefined, JSON.stringify(more));
  }
});

test("node filters still apply", () => {
  const snapshot = snapshotOf({ a: { cordoned: true } });
  snapshot.place(at(1, 100, "low"), "a");
  assert.equal(preempt(at(100, 10, "vip"), snapshot, options), undefined);
});

test("preemption can free a host port", () => {
  const snapshot = snapshotOf({ a: {} });
  snapshot.place(app("old", { ports: [{ port: 80 }] }, { priority: 1 }), "a");
  snapshot.place(app("bystander", { cpuPCT: 50 }, { priority: 0 }), "a");
  const found = preempt(app("new", { ports: [{ port: 80 }] }, { priority: 2 }), snapshot, options);
  assert.deepEqual(keys(found?.victims), ["default/old"]);
});

test("room that leaving apps make needs no victims", () => {
  const snapshot = snapshotOf({ a: {}, b: {} });
  snapshot.place(at(1, 100, "low"), "a");
  snapshot.place(at(1, 100, "leaving"), "b", "leaving");
  assert.deepEqual(preempt(at(100, 50, "vip"), snapshot, options), { node: "b", victims: [] });
});

test("an app waits for the room on its nominated node, wherever the search starts", () => {
  const snapshot = snapshotOf({ a: {}, b: {}, c: {} });
  const vip = at(100, 50, "vip");
  for (const name of ["b", "c"]) snapshot.place(at(1, 80, `low-${name}`), name);
  snapshot.place(at(1, 80, "leaving"), "a", "leaving");
  snapshot.nominate(vip, "a");
  const few = { ...options, enough: () => 1 };
  for (const start of [0, 1, 2]) {
    assert.deepEqual(preempt(vip, snapshot, { ...few, start }), { node: "a", victims: [] }, `from ${start}`);
  }
  snapshot.setNode("a", facts({ cordoned: true }));
  assert.equal(preempt(vip, snapshot, { ...few, start: 0 })?.node, "b", "it takes no apps any more");
});

test("room that is nominated to apps of higher priority is not free", () => {
  const snapshot = snapshotOf({ a: {} });
  snapshot.place(at(1, 60, "low"), "a");
  snapshot.nominate(at(200, 70, "first"), "a");
  assert.equal(preempt(at(100, 50, "second"), snapshot, options), undefined);
});

test("apps whose budget allows no disruption are victims only if no others do", () => {
  const budgets = new Budgets();
  const covered = (name: string) => at(10, 50, name, { labels: { app: "web" } });
  budgets.set(
    readBudget({
      metadata: { namespace: "default", name: "web" },
      spec: { selector: { matchLabels: { app: "web" } } },
      status: { disruptionsAllowed: 0, expectedPods: 2 },
    }),
  );
  const violations = (apps: readonly SchedulerApp[]) => budgets.violations(apps, 0);
  const snapshot = snapshotOf({ a: {}, b: {} });
  snapshot.place(covered("web-0"), "a");
  snapshot.place(at(20, 100, "dearer"), "b");
  const vip = at(100, 80, "vip");
  assert.deepEqual(keys(preempt(vip, snapshot, options)?.victims), ["default/web-0"]);
  assert.deepEqual(keys(preempt(vip, snapshot, { ...options, violations })?.victims), ["default/dearer"]);
  // On one node, the others leave first.
  snapshot.remove("default/dearer");
  snapshot.place(at(200, 100, "dearest"), "b");
  snapshot.place(at(10, 50, "other"), "a");
  const small = at(100, 40, "small");
  assert.deepEqual(keys(preempt(small, snapshot, { ...options, violations })?.victims), ["default/other"]);
  assert.deepEqual(keys(preempt(vip, snapshot, { ...options, violations })?.victims), [
    "default/other",
    "default/web-0",
  ]);
});

test("a preempted app counts against its budget until the status of the budget must show it", () => {
  const budgets = new Budgets();
  const covered = (name: string) => at(10, 50, name, { labels: { app: "web" } });
  const [first, second] = [covered("web-0"), covered("web-1")];
  budgets.set(
    readBudget({
      metadata: { namespace: "default", name: "web" },
      spec: { selector: { matchLabels: { app: "web" } } },
      status: { disruptionsAllowed: 1, expectedPods: 2 },
    }),
  );
  assert.deepEqual(budgets.violations([first], 0), []);
  budgets.spend(first, 0);
  assert.deepEqual(budgets.violations([second], noticeMs - 1), [second]);
  assert.deepEqual(budgets.violations([second], noticeMs), []);
});
