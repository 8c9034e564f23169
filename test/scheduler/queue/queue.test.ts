import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { filters } from "../../../src/scheduler/filters/filters.ts";
import { Heap } from "../../../src/scheduler/queue/heap.ts";
import { SchedulingQueue } from "../../../src/scheduler/queue/queue.ts";
import { takeMachineClock } from "../../machine-clock.ts";
import { runs } from "../../properties.ts";

/** The events that help an app which these filters refused. */
const helping = (...names: string[]) =>
  filters.filter(({ name }) => names.includes(name)).flatMap(({ helpedBy }) => helpedBy);

function createQueue() {
  const clock = { now: 0 };
  const queue = new SchedulingQueue(() => clock.now);
  const add = (key: string, priority = 0, createdAt = 0, changed = false) =>
    queue.add({ key, priority, createdAt }, changed);
  const takeAll = () => {
    const taken: string[] = [];
    for (let key = queue.take(); key; key = queue.take()) taken.push(key);
    return taken;
  };
  return { queue, clock, add, takeAll };
}

test("a heap stays ordered as items are added and removed", () => {
  const item = fc.record({ value: fc.integer(), isRemoved: fc.boolean() }, { noNullPrototype: true });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 500, size: "max" }), (items) => {
      const heap = new Heap<{ value: number }>((a, b) => a.value < b.value);
      for (const item of items) heap.push(item);
      for (const item of items.filter(({ isRemoved }) => isRemoved)) assert.ok(heap.remove(item));
      const expected = items.filter(({ isRemoved }) => !isRemoved).sort((a, b) => a.value - b.value);
      assert.deepEqual(Array.from({ length: heap.size }, () => heap.pop()), expected);
      assert.equal(heap.pop(), undefined);
    }),
    runs(40),
  );
});

test("the highest priority comes first, then the oldest app", () => {
  const { add, takeAll } = createQueue();
  add("young", 5, 20);
  add("low", 1, 0);
  add("old", 5, 10);
  add("high", 9, 99);
  assert.deepEqual(takeAll(), ["high", "old", "young", "low"]);
});

test("a changed priority reorders a waiting app", () => {
  const { add, takeAll } = createQueue();
  add("a", 1);
  add("b", 2);
  add("a", 3);
  assert.deepEqual(takeAll(), ["a", "b"]);
});

test("an app that taints evict again and again waits longer each time, until ten minutes pass without that", () => {
  const { queue, clock, add } = createQueue();
  const waits: number[] = [];
  const evict = () => {
    add("a", 0, 0, true);
    queue.delayEvicted("a");
    waits.push(queue.waitMs());
    clock.now += queue.waitMs();
    assert.equal(queue.take(), "a");
    queue.remove("a");
  };
  for (let times = 0; times < 6; times++) evict();
  clock.now += 600_000;
  evict();
  assert.deepEqual(waits, [0, 1000, 2000, 4000, 8000, 10_000, 0]);
});

test("the backoff after failures grows from 1 s to 10 s", () => {
  const { queue, clock, add } = createQueue();
  add("a");
  const waits: number[] = [];
  for (let tries = 0; tries < 6; tries++) {
    assert.equal(queue.take(), "a");
    queue.retryLater("a");
    waits.push(queue.waitMs());
    clock.now += queue.waitMs() - 1;
    assert.equal(queue.take(), undefined, "not before its time");
    clock.now++;
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 10_000, 10_000]);
});

test("a parked app is tried again only after an event that may help, and after its backoff unless it is certain to fit", () => {
  const { queue, clock, add } = createQueue();
  for (const key of ["cpu", "zone"]) add(key);
  assert.deepEqual([queue.take(), queue.take()], ["cpu", "zone"]);
  queue.park("cpu", helping("cpuPCT", "ready"));
  queue.park("zone", helping("nodeSelector"));
  assert.deepEqual(queue.helpedBy("capacity").map(({ key }) => key), ["cpu"]);
  assert.deepEqual(queue.helpedBy("node").map(({ key }) => key), ["cpu", "zone"]);
  assert.deepEqual(queue.helpedBy("quota"), []);
  queue.wake("cpu");
  assert.equal(queue.take(), undefined, "its backoff is not over");
  queue.wake("zone", { certain: true });
  assert.equal(queue.take(), "zone");
  clock.now = 1000;
  assert.equal(queue.take(), "cpu");
});

test("an update of a parked app requeues it only if its request has changed", () => {
  const { queue, add } = createQueue();
  add("a");
  queue.take();
  queue.park("a", helping("cpuPCT"));
  add("a");
  assert.equal(queue.take(), undefined, "only its status changed");
  add("a", 0, 0, true);
  assert.equal(queue.take(), "a");
});

test("an app that is taken is not taken twice", () => {
  const { queue, add } = createQueue();
  add("a");
  assert.equal(queue.take(), "a");
  add("a", 0, 0, true);
  assert.equal(queue.take(), undefined);
  queue.remove("a");
  add("a", 0, 0, true);
  assert.equal(queue.take(), "a");
});

test("remove() drops an app in any state", () => {
  const { queue, clock, add } = createQueue();
  for (const key of ["active", "backoff", "parked"]) add(key);
  assert.equal(queue.take(), "active");
  queue.take();
  queue.take();
  queue.retryLater("backoff");
  queue.park("parked", []);
  for (const key of ["active", "backoff", "parked"]) queue.remove(key);
  clock.now = 1e9;
  assert.equal(queue.take(), undefined);
  assert.deepEqual(queue.sizes, { active: 0, backoff: 0, parked: 0 });
});

test("a parked app is tried again after five minutes in any case", () => {
  const { queue, clock, add } = createQueue();
  add("a");
  queue.take();
  queue.park("a", []);
  assert.equal(queue.waitMs(), 300_000);
  clock.now = 300_000;
  assert.equal(queue.take(), "a");
});

test("setting the clock back does not extend the backoff", () => {
  using clock = takeMachineClock();
  const queue = new SchedulingQueue();
  for (const key of ["failed", "parked"]) queue.add({ key, priority: 0, createdAt: 0 }, false);
  queue.take();
  queue.take();
  queue.park("parked", []);
  clock.setBack(3_600_000);
  assert.ok(queue.waitMs() <= 300_000, `parked for ${queue.waitMs()} ms`);
  queue.retryLater("failed");
  clock.setBack(3_600_000);
  assert.ok(queue.waitMs() <= 1000, `waits for ${queue.waitMs()} ms`);
});
