import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isSettled,
  waitForApp,
  waitForRemoval,
  waitForStop,
  waitUntilSteady,
} from "../../src/cli/app-state.ts";
import { ncapp } from "../builders.ts";

type Find = () => Promise<ReturnType<typeof ncapp> | undefined>;

/** A client whose watch shows what `find` returns, again and again. */
const clientOf = (find: Find) => ({
  find,
  async *watch() {
    for (;;) yield await find();
  },
});

test("waitForApp() follows one watch, watches again if it ends, and looks once more when it is aborted", async () => {
  const name = { namespace: "default", name: "web" };
  const app = ncapp({ status: { phase: "Starting" } });
  const settled = ncapp({ status: { phase: "Running" } });
  const stop = new AbortController();
  let [watches, looks] = [0, 0];
  const client = {
    find: async () => {
      looks++;
      return app;
    },
    async *watch() {
      watches++;
      yield app;
      if (watches === 2) yield settled;
      if (watches === 3) stop.abort();
    },
  };
  const wait = () => waitForApp(client, name, isSettled, { timeoutMs: 60_000, signal: stop.signal });
  assert.equal(await wait(), settled);
  assert.deepEqual([watches, looks], [2, 0]);
  assert.equal(await wait(), app);
  assert.deepEqual([watches, looks], [3, 1]);
});

test("waitForStop() reports an app that still runs after its grace period as not stopped", async () => {
  const app = ncapp({ spec: { terminationGracePeriodSeconds: 5 }, status: { phase: "Running", pid: 7 } });
  const stopped = { ...app, status: { phase: "Stopped" as const } };
  const { signal } = new AbortController();
  let now = 0;
  const find = (after: number) => async () => (now += 10_000) > after ? stopped : app;
  const wait = (after: number) => waitForStop(clientOf(find(after)), app, { signal, now: () => now });
  assert.deepEqual(await wait(Infinity), { ok: false, text: "default/web is running (pid 7)" });
  now = 0;
  assert.match((await wait(10_000)).text, /^default\/web is stopped; 'nckubelet start web' starts it again$/);
});

test("waitForStop() does not call an app stopped that is gone", async () => {
  const { signal } = new AbortController();
  assert.deepEqual(await waitForStop(clientOf(async () => undefined), ncapp({}), { signal }), {
    ok: false,
    text: "default/web was deleted in the meantime",
  });
});

test("waitForRemoval() reports an app that is still there after its grace period", async () => {
  const app = ncapp({ spec: { terminationGracePeriodSeconds: 5 }, status: { phase: "Stopping" } });
  const { signal } = new AbortController();
  let now = 0;
  const wait = (find: Find) => waitForRemoval(clientOf(find), app, { signal, now: () => now });
  assert.deepEqual(
    await wait(async () => {
      now += 10_000;
      return app;
    }),
    { ok: false, text: "default/web is Stopping; see 'nckubelet describe web'" },
  );
  assert.deepEqual(await wait(async () => undefined), { ok: true, text: "default/web is deleted" });
});

test("waitUntilSteady() does not take a run that ends at once for running", async () => {
  const { signal } = new AbortController();
  const running = (pid: number) => ncapp({ status: { phase: "Running", pid } });
  const failed = ncapp({ status: { phase: "Failed" } });
  let now = 0;
  /** Finds these in turn, the last one for good; each look takes half a second. */
  const outcome = async (...found: ReturnType<typeof ncapp>[]) => {
    now = 0;
    const find = async () => {
      now += 500;
      return found.length > 1 ? found.shift() : found[0];
    };
    const options = { timeoutMs: 10_000, signal, now: () => now };
    return (await waitUntilSteady(clientOf(find), { namespace: "default", name: "web" }, isSettled, options))
      ?.status;
  };
  assert.deepEqual(await outcome(running(7)), { phase: "Running", pid: 7 });
  assert.deepEqual(await outcome(running(7), failed), { phase: "Failed" });
  assert.deepEqual(await outcome(running(7), running(8)), { phase: "Running", pid: 8 });
  assert.equal(await outcome(running(7), undefined as never), undefined);
});
