import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type ObjectId, ObjectStore } from "../../src/kube/object-store.ts";
import { isLater } from "../../src/kube/resource-version.ts";
import { runs } from "../properties.ts";

interface Thing extends ObjectId {
  owner?: string;
}
const thing = (key: string, version: number, { uid = `uid-${key}`, ...rest } = {}): Thing => ({
  key,
  uid,
  resourceVersion: `${version}`,
  ...rest,
});

function setUp() {
  const calls: string[] = [];
  const store = new ObjectStore<Thing>({
    idOf: (thing) => thing,
    groupOf: ({ owner }) => owner ?? "none",
    onChange: (now, before) => calls.push(`${before?.resourceVersion ?? ""}>${now?.resourceVersion ?? ""}`),
  });
  const versions = () =>
    [...store.values()].map(({ key, resourceVersion }) => `${key}${resourceVersion}`).join(" ");
  return { store, versions, takeCalls: () => calls.splice(0) };
}

test("an older version never replaces what was written, whether it comes by watch or by list", () => {
  const { store, versions, takeCalls } = setUp();
  store.apply(thing("a", 7));
  store.apply(thing("a", 5));
  store.apply(thing("b", 9));
  // A list that was read before the two were written.
  store.replace([thing("a", 5)], "6");
  assert.equal(versions(), "a7 b9");
  store.replace([thing("a", 8)], "12");
  assert.equal(versions(), "a8");
  assert.deepEqual(takeCalls(), [">7", ">9", "9>", "7>8"]);
});

test("of two objects of one name the newer one stays, and the older one is gone before", () => {
  const { store, versions, takeCalls } = setUp();
  store.apply(thing("a", 7));
  store.apply(thing("a", 9, { uid: "new" }));
  store.apply(thing("a", 8));
  store.remove(thing("a", 8));
  assert.deepEqual([versions(), takeCalls()], ["a9", [">7", "7>", ">9"]]);
});

test("the list of a server that was restored from a backup is taken over, although its versions are older", () => {
  const { store, versions, takeCalls } = setUp();
  for (const [index, key] of ["a", "b", "c"].entries()) store.apply(thing(key, 900 + index));
  store.forget(thing("c", 902));
  takeCalls();
  store.replace([thing("a", 5), thing("c", 6)], "600", { rewound: true });
  assert.deepEqual([versions(), takeCalls()], ["a5 c6", ["901>", "900>5", ">6"]]);
});

test("a partial list removes only what it would contain, and does not end what late events may do", () => {
  const { store, versions } = setUp();
  for (const key of ["a", "b", "c"]) {
    store.apply(thing(key, 1, key === "b" ? {} : { owner: "set" } as object));
  }
  store.forget(thing("c", 1));
  store.replace([], "5", { isListed: ({ owner }) => owner !== undefined });
  store.apply(thing("c", 4));
  assert.equal(versions(), "b1");
});

test("objects are found by their group, also after it changed or was revised", () => {
  const { store } = setUp();
  const owned = (name: string) => [...store.group(name)].map(({ key }) => key);
  store.apply({ ...thing("a", 1), owner: "one" });
  store.apply({ ...thing("b", 1), owner: "one" });
  store.apply(thing("a", 2));
  assert.deepEqual([owned("one"), owned("none")], [["b"], ["a"]]);
  const revised = { ...thing("b", 1), owner: "one" };
  store.revise(revised);
  assert.ok([...store.group("one")][0] === revised && store.get("b") === revised);
  store.remove(thing("b", 3));
  assert.deepEqual(owned("one"), []);
});

test("in random worlds, own writes are never undone, and in the end the store has what the server has", () => {
  const keys = ["a", "b", "c"];
  const step = fc.record({
    key: fc.constantFrom(...keys),
    kind: fc.constantFrom(
      "own write",
      "own deletion",
      "other write",
      "other deletion",
      "event",
      "event",
      "answer",
      "relist",
    ),
    isLate: fc.boolean(),
  });
  const property = fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
    const { store, takeCalls } = setUp();
    const server = new Map<string, Thing>();
    const events: { type: "applied" | "deleted"; thing: Thing }[] = [];
    const answers: Thing[] = [];
    /** What this process knows to be the least: versions of its own writes, and uids that are gone. */
    const least = new Map<string, Thing>();
    const gone = new Set<string>();
    let version = 10;
    const write = (key: string) => {
      const uid = server.get(key)?.uid ?? `uid-${key}-${version}`;
      const next = thing(key, ++version, { uid });
      server.set(key, next);
      events.push({ type: "applied", thing: next });
      return next;
    };
    const drop = (known: Thing) => {
      server.delete(known.key);
      events.push({ type: "deleted", thing: thing(known.key, ++version, { uid: known.uid }) });
    };
    const deliver = () => {
      const event = events.shift();
      if (event?.type === "applied") store.apply(event.thing);
      if (event?.type !== "deleted") return;
      gone.add(event.thing.uid);
      store.remove(event.thing);
    };
    const answer = (next: Thing | undefined) => {
      if (!next) return;
      store.applyAnswer(next);
      if (!gone.has(next.uid)) least.set(next.uid, next);
    };
    for (const { key, kind, isLate } of steps) {
      const known = store.get(key);
      const stored = server.get(key);
      // The preconditions reject a write that is based on another version.
      const isCurrent = known !== undefined && known.resourceVersion === stored?.resourceVersion;
      if (kind === "own write" && !stored && !known) store.apply(write(key));
      else if (kind === "own write" && isCurrent) isLate ? answers.push(write(key)) : answer(write(key));
      else if (kind === "own deletion" && isCurrent) {
        drop(stored);
        gone.add(stored.uid);
        store.forget(stored);
      } else if (kind === "other write") write(key);
      else if (kind === "other deletion" && stored) drop(stored);
      else if (kind === "event") deliver();
      else if (kind === "answer") answer(answers.shift());
      else if (kind === "relist") {
        // A list is a snapshot, and the watch goes on from there.
        events.length = 0;
        for (const thing of store.values()) if (server.get(thing.key)?.uid !== thing.uid) gone.add(thing.uid);
        store.replace([...server.values()], `${version}`);
      }
      for (const { uid, resourceVersion } of store.values()) {
        assert.ok(!gone.has(uid), `${uid} is back`);
        assert.ok(!isLater(least.get(uid)?.resourceVersion, resourceVersion), `${uid} went back`);
      }
    }
    while (answers.length > 0) answer(answers.shift());
    while (events.length > 0) deliver();
    const sorted = (things: Iterable<Thing>) => [...things].toSorted((a, b) => a.key < b.key ? -1 : 1);
    assert.deepEqual(sorted(store.values()), sorted(server.values()));
    assert.deepEqual(sorted(store.group("none")), sorted(server.values()));
    for (const call of takeCalls()) assert.match(call, /^(\d+>\d*|>\d+)$/);
  });
  fc.assert(property, runs(1000));
});
