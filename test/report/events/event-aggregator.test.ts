import assert from "node:assert/strict";
import { test } from "node:test";
import { isSafeName } from "../../../src/api/names.ts";
import type { EventTarget } from "../../../src/report/events/events.ts";
import { type AnyNews, createTallies, type Tally } from "../../../src/report/events/event-aggregator.ts";

const minute = 60_000;
const web: EventTarget = { namespace: "default", name: "web", uid: "u1" };
const backOff: AnyNews = { type: "Warning", reason: "BackOff", message: "restarting in 10 s" };

const setUp = (options: { maxTallies?: number } = {}) => {
  let time = Date.parse("2030-01-01T00:00:00Z");
  const dropped: Tally[] = [];
  const tallies = createTallies({ now: () => time, onDropped: (tally) => dropped.push(tally), ...options });
  return { tallies, dropped, pass: (ms: number) => void (time += ms) };
};

test("createTallies() counts the same event within an hour as one, and starts again after a longer pause", () => {
  const { tallies, pass } = setUp();
  const first = tallies.add(web, backOff);
  for (let times = 0; times < 3; times++) {
    pass(59 * minute);
    assert.equal(tallies.add(web, backOff), first);
  }
  assert.equal(first.count, 4);
  assert.equal(first.lastAt - first.firstAt, 177 * minute);
  pass(61 * minute);
  const second = tallies.add(web, backOff);
  assert.notEqual(second.name, first.name);
  assert.equal(second.count, 1);
});

test("createTallies() keeps the time of an event that is reported late", () => {
  const { tallies, pass } = setUp();
  const at = tallies.add(web, backOff).firstAt;
  pass(10 * minute);
  const late = tallies.add(web, { ...backOff, reason: "Started", at });
  assert.deepEqual([late.firstAt, late.lastAt], [at, at]);
});

test("createTallies() separates events that differ in app, uid, type, reason or message", () => {
  const { tallies } = setUp();
  const all = [
    tallies.add(web, backOff),
    tallies.add({ ...web, name: "api" }, backOff),
    tallies.add({ ...web, namespace: "other" }, backOff),
    tallies.add({ ...web, uid: "u2" }, backOff),
    tallies.add(web, { ...backOff, type: "Normal" }),
    tallies.add(web, { ...backOff, reason: "Failed" }),
    tallies.add(web, { ...backOff, message: "restarting in 20 s" }),
  ];
  assert.equal(new Set(all.map(({ name }) => name)).size, 7);
  assert.deepEqual(all.map(({ count }) => count), [1, 1, 1, 1, 1, 1, 1]);
});

test("createTallies() counts restarts as the same event, whatever the process ID, and shows the last", () => {
  const { tallies } = setUp();
  const started = (pid: number, script = "/srv/web.sh"): AnyNews => ({
    type: "Normal",
    reason: "Started",
    message: `Started ${script} as process ${pid}`,
  });
  const first = tallies.add(web, started(17));
  for (let pid = 18; pid < 50; pid++) assert.equal(tallies.add(web, started(pid)), first);
  assert.deepEqual([first.count, first.message], [33, "Started /srv/web.sh as process 49"]);
  assert.notEqual(tallies.add(web, started(50, "/srv/other.sh")), first);
});

test("createTallies() combines more than ten messages under one reason, and goes on counting the first ten", () => {
  const { tallies } = setUp();
  const say = (number: number) => tallies.add(web, { ...backOff, message: `step ${number} failed` });
  const first = say(0);
  for (let number = 1; number < 10; number++) say(number);
  assert.equal(tallies.size, 10);
  const combined = say(10);
  for (let number = 11; number < 50; number++) assert.equal(say(number), combined);
  assert.equal(combined.count, 40);
  assert.equal(combined.message, "(combined from similar events): step 49 failed");
  assert.equal(say(0), first);
  assert.equal(first.count, 2);
  assert.equal(tallies.size, 11);
});

test("createTallies() separates messages again after ten minutes without that reason", () => {
  const { tallies, pass } = setUp();
  const say = (number: number) => tallies.add(web, { ...backOff, message: `process ${number} failed` });
  for (let number = 0; number < 12; number++) say(number);
  pass(11 * minute);
  assert.equal(say(99).message, "process 99 failed");
});

test("createTallies() creates names that an API server accepts, whatever the app is called", () => {
  const { tallies } = setUp();
  for (const name of ["a", "a.b-c", "x".repeat(253), `${"y".repeat(234)}.${"z".repeat(17)}`]) {
    const tally = tallies.add({ ...web, name }, backOff);
    assert.ok(isSafeName(tally.name), tally.name);
    assert.ok(tally.name.startsWith(name.slice(0, 200)));
  }
});

test("createTallies() keeps a bounded number and drops the one that was idle the longest", () => {
  const { tallies, dropped } = setUp({ maxTallies: 3 });
  const add = (name: string) => tallies.add({ ...web, name }, backOff);
  add("a");
  add("b");
  add("c");
  add("a");
  add("d");
  assert.equal(tallies.size, 3);
  assert.deepEqual(dropped.map(({ target }) => target.name), ["b"]);
});

test("createTallies() names Events in the order in which they happened", () => {
  const { tallies, pass } = setUp();
  const names = Array.from({ length: 50 }, (_, number) => {
    if (number % 3 === 0) pass(1);
    return tallies.add(web, { ...backOff, reason: `Reason${number}` }).name;
  });
  assert.deepEqual(names.toSorted(), names);
  const [scheduler, agent] = [setUp(), setUp()];
  agent.pass(200);
  const started = agent.tallies.add(web, { ...backOff, reason: "Started" }).name;
  scheduler.pass(3000);
  const at = Date.parse("2030-01-01T00:00:00.100Z");
  const scheduled = scheduler.tallies.add(web, { ...backOff, reason: "Scheduled", at }).name;
  assert.ok(scheduled < started, "an event that is reported late is named by when it happened");
});
