import assert from "node:assert/strict";
import { test } from "node:test";
import { FileTimeoutError, inQueue, isHung, whenItAnswers } from "../../../src/lib/deadlines/deadlines.ts";
import { stayAlive } from "../../stay-alive.ts";

/** An operation that ends when the test says so. */
function operation() {
  const { promise, resolve } = Promise.withResolvers<string>();
  let started = 0;
  return {
    run: () => {
      started++;
      return promise;
    },
    started: () => started,
    end: () => resolve("done"),
  };
}

test("inQueue() runs one operation of a folder at a time, and other folders meanwhile", async () => {
  using _alive = stayAlive();
  const [first, second, other] = [operation(), operation(), operation()];
  const results = [inQueue("/a", first.run), inQueue("/a", second.run), inQueue("/b", other.run)];
  other.end();
  await results[2];
  assert.deepEqual([first.started(), second.started()], [1, 0]);
  first.end();
  second.end();
  assert.deepEqual(await Promise.all(results), ["done", "done", "done"]);
});

test("while an operation is overdue, others of its folder fail at once; they work when it is done", async () => {
  using _alive = stayAlive();
  const hanging = operation();
  const [late, queued] = [1, 2].map(() =>
    inQueue("/hung", hanging.run, { timeoutMs: 1, path: "/hung/file" })
  );
  await assert.rejects(late!, {
    name: "FileTimeoutError",
    message: "/hung/file: no answer from its file system within 0.001 s",
  });
  await assert.rejects(queued!, FileTimeoutError);
  assert.equal(isHung("/hung"), true);
  await assert.rejects(inQueue("/hung", hanging.run), FileTimeoutError);
  assert.equal(hanging.started(), 1);
  const answered = whenItAnswers("/hung");
  hanging.end();
  await answered;
  assert.equal(isHung("/hung"), false);
  assert.equal(await inQueue("/hung", hanging.run), "done");
});

test("an operation that fails passes its error on and frees the queue", async () => {
  await assert.rejects(inQueue("/failing", () => Promise.reject(new Error("EIO"))), /EIO/);
  assert.equal(await inQueue("/failing", () => Promise.resolve(1)), 1);
});

test("a signal ends the wait for an operation", async () => {
  using _alive = stayAlive();
  const hanging = operation();
  const stop = new AbortController();
  const waiting = inQueue("/aborted", hanging.run, { signal: stop.signal });
  stop.abort(new Error("the agent stops"));
  await assert.rejects(waiting, /the agent stops/);
  hanging.end();
});
