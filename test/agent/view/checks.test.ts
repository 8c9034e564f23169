import assert from "node:assert/strict";
import { test } from "node:test";
import {
  apiServerCheck,
  authorizationCheck,
  cgroupsCheck,
  sourceCheck,
  syncCheck,
} from "../../../src/agent/view/checks.ts";
import { FileTimeoutError, inQueue, whenItAnswers } from "../../../src/lib/deadlines/deadlines.ts";
import { createDiskCheck } from "../../../src/agent/view/view.ts";
import { createAgentCounters } from "../../../src/server/counters.ts";
import { recordWith } from "../../supervisor/fixtures.ts";
import { tempFolder } from "../../temp-folder.ts";
import { stayAlive } from "../../stay-alive.ts";

test("a source is as ready as it says", () => {
  const health = () => ({ ready: false, message: "503", since: new Date() });
  assert.deepEqual(sourceCheck({ name: "api-server", health }), {
    name: "source-api-server",
    ok: false,
    message: "503",
  });
});

test("missing limits fail the check only while an app waits for some", () => {
  const waiting = (key: string) => ({ key, record: recordWith({ reason: "LimitsUnavailable" }) });
  const fine = { key: "default/fine", record: recordWith() };
  assert.equal(cgroupsCheck("", [waiting("default/a")]).ok, true);
  assert.deepEqual(cgroupsCheck("cgroup v1", [fine]), {
    name: "cgroups",
    ok: true,
    message: "limits cannot be enforced; no app waits for them: cgroup v1",
  });
  const one = cgroupsCheck("cgroup v1", [fine, waiting("default/a")]);
  assert.deepEqual([one.ok, one.message], [
    false,
    "default/a is not started, limits cannot be enforced: cgroup v1",
  ]);
  const many = cgroupsCheck("cgroup v1", ["d/a", "d/b", "d/c", "d/d", "d/e"].map(waiting));
  assert.match(many.message, /^d\/a, d\/b, d\/c and 2 more are not started/);
});

test("the API server is fine while it answers, be it with a refusal", () => {
  const after = (code: number) =>
    apiServerCheck({ report: { verb: "list", resource: "ncapps", code, durationMs: 1 }, at: 1000 }, 4000);
  assert.deepEqual([200, 403, 404, 429].map((code) => after(code).ok), [true, true, true, true]);
  assert.deepEqual([0, 500, 503].map((code) => after(code).ok), [false, false, false]);
  assert.equal(after(0).message, "no answer to list ncapps 3 s ago");
  assert.equal(apiServerCheck(undefined, 0).ok, false);
});

test("the agent is not ready while the API server refuses what it must do, until it allows that", () => {
  const counters = createAgentCounters();
  const ask = (verb: string, resource: string, code: number) =>
    counters.countRequest({ verb, resource, code, durationMs: 1 });
  const check = () => authorizationCheck(counters.refused());
  assert.equal(check().ok, true);
  ask("create", "leases", 403);
  ask("get", "leases", 200);
  ask("patch", "ncapps/status", 403);
  assert.equal(check().ok, false);
  assert.match(
    check().message,
    /refuses the agent to write leases \(403, since \S+Z\); its credential is that of another/,
  );
  ask("update", "leases", 200);
  assert.equal(check().ok, true, "an app may be refused by itself");
  ask("list", "ncapps", 401);
  assert.match(check().message, /read ncapps \(401/);
  ask("list", "ncapps", 500);
  assert.equal(check().ok, false);
  ask("watch", "ncapps", 200);
  assert.equal(check().ok, true);
});

test("an agent that may not create its Node is ready when someone else has, and not while it may not change it", () => {
  const counters = createAgentCounters();
  const ask = (verb: string, code: number) =>
    counters.countRequest({ verb, resource: "nodes", code, durationMs: 1 });
  const isOk = () => authorizationCheck(counters.refused()).ok;
  ask("create", 403);
  ask("get", 404);
  assert.equal(isOk(), false);
  ask("get", 200);
  assert.equal(isOk(), true);
  ask("patch", 403);
  ask("get", 200);
  assert.equal(isOk(), false);
});

test("a sync that is three periods late fails", () => {
  assert.equal(syncCheck(0, 29_999, 10_000).ok, true);
  assert.deepEqual(syncCheck(0, 30_000, 10_000), {
    name: "sync",
    ok: false,
    message: "last sync 30 s ago",
  });
});

test("a disk that can be written to is fine, a folder that is gone is named", async () => {
  using temp = tempFolder();
  const disk = createDiskCheck([temp.path]);
  await disk.refresh();
  assert.equal(disk.result().ok, true);
  assert.match(disk.result().message, /MiB free/);
  temp.remove();
  await disk.refresh();
  assert.deepEqual(disk.result(), {
    name: "disk",
    ok: false,
    message: `${temp.path} cannot be written to: ENOENT`,
  });
});

test("a disk that does not answer is not ready, until it answers", async () => {
  using _alive = stayAlive();
  using temp = tempFolder();
  const { promise: answer, resolve } = Promise.withResolvers<void>();
  await assert.rejects(inQueue(temp.path, () => answer, { timeoutMs: 1 }), FileTimeoutError);
  const disk = createDiskCheck([temp.path]);
  await disk.refresh();
  assert.equal(disk.result().message, `${temp.path} cannot be written to: FileTimeout`);
  resolve();
  await whenItAnswers(temp.path);
  await disk.refresh();
  assert.equal(disk.result().ok, true);
});
