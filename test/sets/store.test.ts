import assert from "node:assert/strict";
import { test } from "node:test";
import { createStore, ObjectStore } from "../../src/sets/store.ts";
import { slim } from "../../src/sets/slim.ts";
import type { App, AppSet, Meta } from "../../src/sets/types.ts";
import { ncapp } from "../builders.ts";

interface Thing {
  metadata: Meta;
}
const thing = (name: string, resourceVersion: string, { uid = `uid-${name}`, owner = "" } = {}): Thing => ({
  metadata: {
    namespace: "default",
    name,
    uid,
    resourceVersion,
    ...(owner
      ? {
        ownerReferences: [{ apiVersion: "v1", kind: "NCAppSet", name: "web", uid: owner, controller: true }],
      }
      : {}),
  },
});
const names = (things: Iterable<Thing>) => [...things].map(({ metadata }) => metadata.name);
const versionOf = (store: ObjectStore<Thing>, name: string) =>
  store.get("default", name)?.metadata.resourceVersion;

test("an older version never replaces what was written, whether it comes by watch or by list", () => {
  const store = new ObjectStore<Thing>();
  store.apply(thing("a", "7"));
  store.apply(thing("a", "5"));
  assert.equal(versionOf(store, "a"), "7");
  store.apply(thing("b", "9"));
  // A list that was read before the two were written.
  store.replace([thing("a", "5")], "6");
  assert.deepEqual([versionOf(store, "a"), versionOf(store, "b")], ["7", "9"]);
  store.replace([thing("a", "8")], "12");
  assert.deepEqual([versionOf(store, "a"), versionOf(store, "b")], ["8", undefined]);
});

test("an older object never replaces a newer one of its name", () => {
  const store = new ObjectStore<Thing>();
  store.apply(thing("a", "9", { uid: "new" }));
  store.apply(thing("a", "7", { uid: "old" }));
  assert.equal(store.get("default", "a")?.metadata.uid, "new");
});

test("a list of a server that was restored from a backup is taken over, although its versions are older", () => {
  const store = new ObjectStore<Thing>();
  store.apply(thing("a", "900"));
  store.apply(thing("b", "901"));
  store.apply(thing("c", "902"));
  store.remove(thing("c", "902").metadata, { seen: false });
  store.replace([thing("a", "5"), thing("c", "6")], "600", { rewound: true });
  assert.deepEqual(["a", "b", "c"].map((name) => versionOf(store, name)), ["5", undefined, "6"]);
});

test("a deleted object does not come back by a late event; another one of its name does", () => {
  const store = new ObjectStore<Thing>();
  store.apply(thing("a", "5"));
  store.remove(thing("a", "5").metadata, { seen: false });
  store.apply(thing("a", "6"));
  assert.equal(versionOf(store, "a"), undefined);
  store.apply(thing("a", "9", { uid: "other" }));
  assert.equal(versionOf(store, "a"), "9");
  // The deletion of the first is seen at last: the second stays.
  store.remove(thing("a", "7").metadata);
  assert.equal(versionOf(store, "a"), "9");
});

test("objects are found by their controller, also after it changed", () => {
  const store = new ObjectStore<Thing>();
  store.apply(thing("a", "1", { owner: "set-1" }));
  store.apply(thing("b", "1"));
  assert.deepEqual([names(store.ownedBy("set-1")), names(store.freeIn("default"))], [["a"], ["b"]]);
  store.apply(thing("a", "2"));
  store.apply(thing("b", "2", { owner: "set-1" }));
  assert.deepEqual([names(store.ownedBy("set-1")), names(store.freeIn("default"))], [["b"], ["a"]]);
});

test("a partial list removes only what it would contain", () => {
  const store = new ObjectStore<Thing>();
  store.apply(thing("a", "1", { owner: "set-1" }));
  store.apply(thing("b", "1"));
  store.replace([], "5", {
    isListed: ({ metadata }) => metadata.ownerReferences !== undefined,
  });
  assert.deepEqual(names(store.values()), ["b"]);
});

test("a set is told what concerns it, and not that an app used some memory", () => {
  const told: string[] = [];
  const store = createStore((key) => told.push(key));
  const set = { metadata: { ...thing("web", "1").metadata } } as AppSet;
  store.sets.apply(set);
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
