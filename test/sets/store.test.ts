import assert from "node:assert/strict";
import { test } from "node:test";
import { createStore, freeIn } from "../../src/sets/store.ts";
import { slim } from "../../src/sets/slim.ts";
import type { App, AppSet } from "../../src/sets/types.ts";
import { ncapp } from "../builders.ts";

test("a set is told what concerns it, and not that an app used some memory", () => {
  const told: string[] = [];
  const store = createStore((key) => told.push(key));
  const metadata = { namespace: "default", name: "web", uid: "uid-web", resourceVersion: "1" };
  store.sets.apply({ metadata } as AppSet);
  const owner = { apiVersion: "v1", kind: "NCAppSet", name: "web", uid: "uid-web", controller: true };
  const app = (resourceVersion: string, status: NonNullable<App["status"]>, owned = true): App => {
    const object = ncapp({ metadata: { name: "web-n1", resourceVersion }, status });
    const metadata = { ...object.metadata, ...(owned ? { ownerReferences: [owner] } : {}) };
    return slim({ ...object, metadata });
  };
  told.length = 0;
  store.apps.apply(app("2", { ready: true, cpuPCT: "1.0" }));
  assert.deepEqual(told.splice(0), ["default/web"]);
  store.apps.apply(app("3", { ready: true, cpuPCT: "2.0", memoryBytes: 5 }));
  assert.equal(told.length, 0);
  store.apps.apply(app("4", { ready: false }));
  assert.deepEqual(told.splice(0), ["default/web"]);
  // It has no owner any more: it may be adopted, by its name.
  store.apps.apply(app("5", { ready: false }, false));
  assert.ok(told.splice(0).includes("default/web"));
  assert.deepEqual([...store.apps.group("uid-web")], []);
  assert.equal([...store.apps.group(freeIn("default"))].length, 1);
});

test("slim() keeps the mark of a mirror, which no set adopts", () => {
  const mark = { "app.example.com/config.mirror": "n1/0123456789abcdef" };
  const app = slim(ncapp({ metadata: { annotations: { ...mark, c: "d" } }, spec: {} }));
  assert.deepEqual(app.metadata.annotations, mark);
});

test("slim() keeps of other apps only their names, labels and node", () => {
  const app = slim(ncapp({
    metadata: { labels: { a: "b" }, annotations: { c: "d" } },
    spec: { nodeName: "n1", args: ["x"] },
  }));
  assert.deepEqual([app.spec, app.metadata.labels, app.metadata.annotations], [
    { nodeName: "n1" },
    { a: "b" },
    undefined,
  ]);
});
