import assert from "node:assert/strict";
import { test } from "node:test";
import { layOut } from "../../tools/demo/screen.ts";

const screen = {
  head: ["Limits       NOT enforced: the kernel has no cgroup v2, boot with another"],
  table: ["NAME   PHASE     MESSAGE", "web    Running   all is well with it"],
  news: ["one", "two", "three"],
};

test("lines at the top are wrapped and whole, the table is cut with a mark, news come last", () => {
  assert.deepEqual(layOut(screen, { columns: 30, rows: 24 }), [
    "Limits       NOT enforced: the",
    "             kernel has no",
    "             cgroup v2, boot",
    "             with another",
    "",
    "NAME   PHASE     MESSAGE",
    "web    Running   all is well …",
    "",
    "one",
    "two",
    "three",
  ]);
});

test("where there are few rows the newest of the news are shown, or none, and nothing scrolls", () => {
  assert.deepEqual(layOut(screen, { columns: 100, rows: 7 }).slice(3), [
    "web    Running   all is well with it",
    "",
    "three",
  ]);
  assert.equal(layOut(screen, { columns: 100, rows: 6 }).at(-1), "web    Running   all is well with it");
  assert.equal(layOut(screen, { columns: 100, rows: 3 }).length, 2);
});

test("a word that is longer than the line does not hold it up", () => {
  const head = [`Logs         /tmp/${"x".repeat(50)}/app.log and more`];
  assert.deepEqual(layOut({ head, table: [], news: [] }, { columns: 30, rows: 24 })[0], head[0]);
});
