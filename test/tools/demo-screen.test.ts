import assert from "node:assert/strict";
import { test } from "node:test";
import { layOut } from "../../tools/demo/screen.ts";

const screen = {
  head: ["Limits       NOT enforced: the kernel has no cgroup v2, boot with another"],
  table: ["NAME   PHASE     MESSAGE", "web    Running   all is well with it"],
  news: ["one", "two", "three"],
};

test("a screen with few rows shows only the newest news, or none, and does not scroll", () => {
  assert.deepEqual(layOut(screen, { columns: 100, rows: 7 }).slice(3), [
    "web    Running   all is well with it",
    "",
    "three",
  ]);
  assert.equal(layOut(screen, { columns: 100, rows: 6 }).at(-1), "web    Running   all is well with it");
  assert.equal(layOut(screen, { columns: 100, rows: 3 }).length, 2);
});

test("a word that is longer than the line does not hang the wrapping", () => {
  const head = [`Logs         /tmp/${"x".repeat(50)}/app.log and more`];
  assert.deepEqual(layOut({ head, table: [], news: [] }, { columns: 30, rows: 24 })[0], head[0]);
});
