import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createWaiter } from "../../../src/supervisor/logs/wait.ts";

const never = new AbortController().signal;
const hour = 3_600_000;

let folder = "";
before(async () => folder = await mkdtemp(join(tmpdir(), "log-wait-")));
after(() => rm(folder, { recursive: true }));

test("a waiter that has become quiet is woken by a write", async () => {
  using waiter = createWaiter(folder, { patience: 0, quietMs: hour });
  await waiter.wait(never); // The watch begins, and there is time for one more look.
  const woken = waiter.wait(never);
  await appendFile(join(folder, "app.log"), "hello\n");
  await woken;
});

test("a waiter looks a few times in short order before it becomes quiet, and again after something was found", async () => {
  const stop = new AbortController();
  using waiter = createWaiter(folder, { busyMs: 1, patience: 3, quietMs: hour });
  for (let round = 0; round < 2; round++) {
    for (let look = 0; look < 4; look++) await waiter.wait(stop.signal);
    waiter.found();
  }
  stop.abort();
});

test("a waiter ends with its signal, busy or quiet", async () => {
  for (const patience of [0, 10]) {
    const stop = new AbortController();
    using waiter = createWaiter(folder, { busyMs: hour, patience, quietMs: hour });
    if (patience === 0) await waiter.wait(stop.signal);
    const waiting = waiter.wait(stop.signal);
    stop.abort();
    await waiting;
  }
});

test("a waiter whose folder cannot be watched looks again after its longest wait", async () => {
  using waiter = createWaiter(join(folder, "none"), { patience: 0, quietMs: 1 });
  await waiter.wait(never);
  await waiter.wait(never);
});
