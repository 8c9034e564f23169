import assert from "node:assert/strict";
import { test } from "node:test";
import { createGate, guardSource } from "../../../src/agent/node/node.ts";
import type { Source, SourceSink } from "../../../src/sources/source.ts";

/** A source that the test drives, and what came through. */
const setUp = () => {
  const gate = createGate();
  const passed: string[] = [];
  let inner: SourceSink | undefined;
  let runs = 0;
  let health = { ready: true, message: "following", since: new Date(0) };
  const source: Source = {
    name: "api-server",
    health: () => health,
    run(sink, signal) {
      runs++;
      inner = sink;
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    },
  };
  const sink: SourceSink = {
    replace: (apps) => void passed.push(`replace ${apps.length}`),
    upsert: () => void passed.push("upsert"),
    remove: () => void passed.push("remove"),
    reportProblems: () => void passed.push("problems"),
  };
  const observe = (sink: SourceSink): SourceSink => ({
    ...sink,
    remove(key, uid) {
      passed.push(`observed ${key}`);
      sink.remove(key, uid);
    },
  });
  const ending = new AbortController();
  const guarded = guardSource(source, gate, observe, 3_600_000);
  const running = guarded.run(sink, ending.signal);
  return {
    gate,
    guarded,
    passed,
    runs: () => runs,
    inner: () => inner!,
    be: (next: typeof health) => void (health = next),
    settled: () => new Promise((resolve) => setImmediate(resolve)),
    end: () => (ending.abort(), running),
  };
};

test("a guarded source waits for the decision and then passes everything on, with one list", async () => {
  const { gate, passed, runs, inner, settled, end } = setUp();
  await settled();
  assert.equal(runs(), 0);
  gate.open();
  await settled();
  inner().replace([]);
  inner().reportProblems([]);
  gate.open();
  await end();
  assert.deepEqual([passed, runs()], [["replace 0", "problems"], 1]);
});

test("while the gate is closed, a complete list without an app removes nothing; when it opens, it is listed again", async () => {
  const { gate, guarded, passed, runs, inner, settled, end } = setUp();
  gate.close("another agent renews the Lease");
  await settled();
  inner().replace([]);
  inner().remove("default/a", "u");
  inner().reportProblems([]);
  assert.deepEqual(passed, ["problems"]);
  const { ready, message } = guarded.health();
  assert.deepEqual([ready, message], [false, "another agent renews the Lease"]);
  gate.open();
  await settled();
  assert.equal(runs(), 2);
  inner().replace([]);
  inner().remove("default/a", "u");
  const all = ["problems", "replace 0", "observed default/a", "remove"];
  assert.deepEqual(passed, all);
  assert.equal(guarded.health().message, "following");
  gate.close("again");
  inner().remove("default/a", "u");
  assert.deepEqual(passed, all);
  await end();
});

test("until the decision, a source that cannot be read says so itself", async () => {
  const { guarded, be, end } = setUp();
  assert.match(guarded.health().message, /not decided yet/);
  be({ ready: false, message: "connect ECONNREFUSED", since: new Date(0) });
  assert.equal(guarded.health().message, "connect ECONNREFUSED");
  await end();
});
