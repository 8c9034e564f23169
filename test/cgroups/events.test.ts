import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { waitUntilEmpty, watchEmpty } from "../../cgroups/mod.ts";
import { stayAlive } from "../stay-alive.ts";
import { fakeCgroup } from "./folder.ts";

const RUNNING = { "cgroup.events": "populated 1\nfrozen 0\n" };

test("watchEmpty() reports at once a cgroup that is empty or gone", (t) => {
  const reported: string[] = [];
  const dir = fakeCgroup(t, { "cgroup.events": "populated 0\n" });
  watchEmpty(dir, () => reported.push("empty")).close();
  watchEmpty("/nowhere/at/all", () => reported.push("gone")).close();
  assert.deepEqual(reported, ["empty", "gone"]);
});

test("watchEmpty() reports each end once, however often it is notified", async (t) => {
  using _alive = stayAlive();
  const dir = fakeCgroup(t, RUNNING);
  let ends = 0;
  const end = deferred();
  const watched = watchEmpty(dir, () => (ends++, end.resolve()));
  t.after(() => watched.close());
  for (let times = 0; times < 3; times++) writeFileSync(`${dir}/cgroup.events`, "populated 0\nfrozen 0\n");
  await end.promise;
  await notified(dir);
  assert.equal(ends, 1);
});

test("watchEmpty() reports nothing after close", async (t) => {
  const dir = fakeCgroup(t, RUNNING);
  const watched = watchEmpty(dir, () => assert.fail("reported after close"));
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

test("waitUntilEmpty() resolves when the last process ends", async (t) => {
  const dir = fakeCgroup(t, RUNNING);
  const waiting = waitUntilEmpty(dir, { timeoutMs: 60_000 });
  writeFileSync(`${dir}/cgroup.events`, "populated 0\n");
  assert.equal(await waiting, true);
});

test("waitUntilEmpty() ends with the timeout", async (t) => {
  const dir = fakeCgroup(t, RUNNING);
  assert.equal(await waitUntilEmpty(dir, { timeoutMs: 1 }), false);
});

/** Resolves when a later watch was notified: the earlier watches were notified by then. */
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
