import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { watchEvents } from "../../cgroups/mod.ts";
import { waitUntilEmpty } from "../../cgroups/wait.ts";
import { fakeCgroup } from "./folder.ts";

const RUNNING = { "cgroup.events": "populated 1\nfrozen 0\n", "memory.events": "oom_kill 2\n" };

test("watchEvents() tells at once of a cgroup that is already empty", (t) => {
  const told: string[] = [];
  const dir = fakeCgroup(t, { "cgroup.events": "populated 0\n" });
  watchEvents(dir, { onEmpty: () => told.push("empty") }).close();
  watchEvents("/nowhere/at/all", { onEmpty: () => told.push("gone") }).close();
  assert.deepEqual(told, ["empty", "gone"]);
});

test("watchEvents() tells once of each end, however often it is notified", async (t) => {
  const dir = fakeCgroup(t, RUNNING);
  let ends = 0;
  const end = deferred();
  const watched = watchEvents(dir, { onEmpty: () => (ends++, end.resolve()) }, { persistent: true });
  t.after(() => watched.close());
  for (let times = 0; times < 3; times++) writeFileSync(`${dir}/cgroup.events`, "populated 0\nfrozen 0\n");
  await end.promise;
  await notified(dir);
  assert.equal(ends, 1);
});

test("watchEvents() tells of kills for memory, before the end they caused", async (t) => {
  const dir = fakeCgroup(t, RUNNING);
  const told: string[] = [];
  const end = deferred();
  const watched = watchEvents(dir, {
    onOom: ({ oomKills }) => told.push(`oom ${oomKills}`),
    onEmpty: () => (told.push("empty"), end.resolve()),
  }, { persistent: true });
  t.after(() => watched.close());
  assert.deepEqual(told, []);
  writeFileSync(`${dir}/memory.events`, "oom_kill 5\n");
  writeFileSync(`${dir}/cgroup.events`, "populated 0\nfrozen 0\n");
  await end.promise;
  assert.deepEqual(told, ["oom 5", "empty"]);
});

test("watchEvents() tells of a kill that came while nobody watched", (t) => {
  const dir = fakeCgroup(t, RUNNING);
  const told: number[] = [];
  watchEvents(dir, { onOom: ({ oomKills }) => told.push(oomKills) }, { oomKillsSeen: 1 }).close();
  watchEvents(dir, { onOom: ({ oomKills }) => told.push(oomKills) }, { oomKillsSeen: 2 }).close();
  assert.deepEqual(told, [2]);
});

test("watchEvents() is silent after a close from within a handler", async (t) => {
  const dir = fakeCgroup(t, RUNNING);
  const closed = deferred();
  const watched = watchEvents(dir, {
    onOom: () => (watched.close(), closed.resolve()),
    onEmpty: () => assert.fail("told after close"),
  }, { persistent: true });
  writeFileSync(`${dir}/cgroup.events`, "populated 0\nfrozen 0\n");
  writeFileSync(`${dir}/memory.events`, "oom_kill 5\n");
  await closed.promise;
});

test("watchEvents() is silent after close", async (t) => {
  const dir = fakeCgroup(t, RUNNING);
  const watched = watchEvents(dir, { onEmpty: () => assert.fail("told after close") });
  watched.close();
  watched.close();
  writeFileSync(`${dir}/cgroup.events`, "populated 0\nfrozen 0\n");
  await notified(dir);
});

test("waitUntilEmpty() is true at once for a cgroup that is empty or gone", async (t) => {
  const dir = fakeCgroup(t, { "cgroup.events": "populated 0\n" });
  assert.equal(await waitUntilEmpty(dir, { timeoutMs: 60_000 }), true);
  assert.equal(await waitUntilEmpty("/nowhere/at/all", { timeoutMs: 60_000 }), true);
});

test("waitUntilEmpty() sees the end come", async (t) => {
  const dir = fakeCgroup(t, RUNNING);
  const waiting = waitUntilEmpty(dir, { timeoutMs: 60_000 });
  writeFileSync(`${dir}/cgroup.events`, "populated 0\n");
  assert.equal(await waiting, true);
});

test("waitUntilEmpty() ends with the time, and with the signal", async (t) => {
  const dir = fakeCgroup(t, RUNNING);
  assert.equal(await waitUntilEmpty(dir, { timeoutMs: 1 }), false);
  const abort = new AbortController();
  const waiting = waitUntilEmpty(dir, { timeoutMs: 60_000, signal: abort.signal });
  abort.abort(new Error("changed my mind"));
  await assert.rejects(waiting, { message: "changed my mind" });
  await assert.rejects(waitUntilEmpty(dir, { timeoutMs: 60_000, signal: abort.signal }), {
    message: "changed my mind",
  });
});

/** Resolves when a watch made after everything before has told of a change: the earlier ones have run by then. */
async function notified(dir: string): Promise<void> {
  writeFileSync(`${dir}/cgroup.events`, "populated 1\n");
  const waiting = waitUntilEmpty(dir, { timeoutMs: 60_000 });
  rmSync(`${dir}/cgroup.events`);
  writeFileSync(`${dir}/cgroup.events`, "populated 0\n");
  await waiting;
}

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => resolve = done);
  return { promise, resolve };
}
