import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { annotations } from "../../../src/api/names.ts";
import type { NCAppSpec } from "../../../src/api/types.ts";
import {
  mergeDesired,
  mergeOrder,
  mergeProbeState,
  mergeUndoRequest,
  newRecord,
  refuseOrder,
  restartTrial,
  revisionOf,
  revisionsOf,
  runHash,
  scriptsOf,
} from "../../../src/supervisor/decide/decide.ts";
import { statusOf } from "../../../src/supervisor/status.ts";
import type { AppEvent, RunnableApp, RunView } from "../../../src/supervisor/types.ts";
import { runs } from "../../properties.ts";
import { appWith, start, viewWith } from "../fixtures.ts";
import { look } from "./decide-fixtures.ts";

const update = { minReadySeconds: 10, progressDeadlineSeconds: 60, onFailure: "Rollback" } as const;
const secondMs = 1000;

/** A node with one app: its clock, its script on disk, and what happens. */
function createWorld(spec: NCAppSpec = {}, metadata: Partial<RunnableApp["metadata"]> = {}) {
  const make = (next: NCAppSpec) => appWith({ update, ...spec, ...next }, metadata);
  let now = start;
  let script = "s1";
  let isKept = true;
  let record = newRecord({ app: make({}), source: "test" });
  const events: AppEvent[] = [];
  const launched = (): string => {
    const pinned = isKept ? scriptsOf(record)?.pinned : undefined;
    return pinned ?? script;
  };
  let running = "";
  const view = (fields: Partial<RunView> = {}): RunView =>
    viewWith({ started: { at: now, main: { pid: 1, startTime: "7" } }, script: running, ...fields });
  const settle = (fields: Partial<RunView> = {}, logTail?: string) => {
    for (let at = 0; at < 20; at++) {
      const before = record;
      if (record.phase === "Starting" && !running) running = launched();
      const next = look(record, {
        now,
        newRunId: () => `run-${now}-${at}`,
        view: record.run ? view(record.phase === "Stopping" ? over(143) : fields) : undefined,
        wantedScript: record.run ? undefined : script,
        nextRun: undefined,
        logTail,
      });
      record = next.record;
      events.push(...next.events);
      if (!record.run) running = "";
      if (record === before) return;
      // An end that was seen is over.
      if (before.run && !record.run) fields = {};
    }
  };
  const over = (code: number): Partial<RunView> => ({
    exit: { code, at: now },
    processes: [],
    launcherAlive: false,
  });
  const world = {
    events,
    get record() {
      return record;
    },
    get running() {
      return { args: record.app.spec.args?.[0], script: running };
    },
    settle,
    pass(seconds: number) {
      now += seconds * secondMs;
      settle();
    },
    edit(next: NCAppSpec, fields: Partial<RunnableApp["metadata"]> = {}) {
      const app = make(next);
      const wanted = { ...app, metadata: { ...app.metadata, ...fields } };
      record = mergeUndoRequest(record, mergeDesired(record, { app: wanted, source: "test" }).record, now);
      settle();
    },
    write(content: string) {
      script = content;
    },
    /** The kept scripts are gone from the disk. */
    loseScripts() {
      isKept = false;
    },
    crash(code = 3) {
      settle(over(code), "cannot open the door");
    },
    order(order: "restart" | "undo" | "stop" | "start") {
      record = mergeOrder(record, order, now);
      settle();
    },
    ready(ready: boolean) {
      record = mergeProbeState(record, { runId: record.run!.id, ready }, now);
      settle();
    },
    /** A new agent takes over after some seconds. */
    adopt(seconds: number) {
      now += seconds * secondMs;
      record = restartTrial(record, now);
      settle();
    },
    /** As after kill -9 of the agent: what is not in the record is lost. */
    reload() {
      record = JSON.parse(JSON.stringify(record));
    },
    states: () => revisionsOf(record).map(({ state }) => state),
    condition: () => statusOf({ record }).conditions?.find(({ type }) => type === "RolledBack"),
  };
  settle();
  return world;
}

const good = (spec?: NCAppSpec) => {
  const world = createWorld(spec);
  world.pass(10);
  assert.deepEqual(world.states(), ["Good"]);
  return world;
};

describe("a version of an app", () => {
  test("is on trial until it was ready for minReadySeconds", () => {
    const world = createWorld();
    assert.deepEqual([world.record.phase, world.states()], ["Running", ["Trial"]]);
    world.pass(9);
    assert.deepEqual(world.states(), ["Trial"]);
    world.pass(1);
    assert.deepEqual([world.states(), world.record.good?.script], [["Good"], "s1"]);
  });

  test("counts from when its probe has passed, and again after it failed", () => {
    const world = createWorld({ readinessProbe: { tcpSocket: { port: 1 } } });
    world.pass(50);
    assert.deepEqual(world.states(), ["Trial"]);
    world.ready(true);
    world.pass(9);
    world.ready(false);
    world.ready(true);
    world.pass(9);
    assert.deepEqual(world.states(), ["Trial"]);
    world.pass(1);
    assert.deepEqual(world.states(), ["Good"]);
  });

  test("is good when it completes, if it is to run once", () => {
    const world = createWorld({ restartPolicy: "Never" });
    world.crash(0);
    assert.deepEqual([world.record.phase, world.states()], ["Succeeded", ["Good"]]);
  });

  test("is not another one for caps, placement, suspend, allowExec, restarts and defaults", () => {
    const revision = (spec: NCAppSpec, annotation = "") =>
      revisionOf(appWith(spec, { annotations: { [annotations.restartedAt]: annotation } }));
    const same = [
      { cpuPCT: 10 },
      { memPCT: 10 },
      { ports: [{ port: 80 }] },
      { nodeName: "b" },
      { suspend: true },
      { allowExec: true },
      { update },
      { backoffSeconds: 10 },
      { args: undefined },
    ];
    for (const spec of same) assert.equal(revision(spec), revision({}, "now"), JSON.stringify(spec));
    const others = [{ args: ["a"] }, { shellFile: "/b" }, { env: [{ name: "A", value: "b" }] }, {
      livenessProbe: { tcpSocket: { port: 1 } },
    }];
    assert.equal(new Set([revision({}), ...others.map((spec) => revision(spec))]).size, 5);
  });
});

describe("a bad edit", () => {
  test("that crashes goes back to the last good version, says so, and is not tried again", () => {
    const world = good();
    world.edit({ args: ["bad"] });
    assert.deepEqual([world.running, world.states()], [{ args: "bad", script: "s1" }, ["Trial", "Good"]]);
    world.pass(5);
    world.crash();
    assert.deepEqual([world.record.phase, world.running], ["Running", { args: undefined, script: "s1" }]);
    assert.deepEqual(world.states(), ["Good", "Refused"]);
    const { status, reason, message } = world.condition()!;
    assert.deepEqual([status, reason], ["True", "Error"]);
    assert.match(
      message!,
      /^version \w+-s1 failed: Ended with status 3: Error; back to version \w+-s1 until/,
    );
    assert.match(message!, /\ncannot open the door$/);
    assert.match(statusOf({ record: world.record }).message!, /^RolledBack: version \S+ failed: .*changes$/);
    assert.equal(world.events.filter(({ reason }) => reason === "RolledBack").length, 1);
    for (const again of [() => world.edit({ args: ["bad"] }), () => world.order("restart"), world.reload]) {
      again();
      world.pass(1000);
      assert.deepEqual(world.running.args, undefined);
    }
    world.crash();
    world.crash();
    assert.deepEqual([world.record.phase, world.states()], ["BackOff", ["Good", "Refused"]], "and not again");
  });

  test("that is not ready in time goes back, and so does one that cannot start", () => {
    const world = good({ readinessProbe: undefined });
    world.edit({ readinessProbe: { tcpSocket: { port: 1 } } });
    world.pass(59);
    assert.deepEqual(world.states(), ["Trial", "Good"]);
    world.pass(1);
    assert.deepEqual([world.states(), world.condition()?.reason], [
      ["Good", "Refused"],
      "ProgressDeadlineExceeded",
    ]);
    assert.equal(world.record.app.spec.readinessProbe, undefined);
  });

  test("that was ready meanwhile is good, however late that is seen, and rests without a clock", () => {
    const world = good();
    world.edit({ args: ["two"] });
    world.pass(1000);
    assert.deepEqual(world.states(), ["Good", "Previous"]);
    world.edit({ args: ["three"], readinessProbe: { tcpSocket: { port: 1 } } });
    world.order("stop");
    world.pass(1000);
    assert.deepEqual([world.record.phase, world.states()], ["Stopped", ["Trial", "Good", "Previous"]]);
    world.order("start");
    world.pass(59);
    assert.deepEqual(world.states(), ["Trial", "Good", "Previous"]);
    world.pass(1);
    assert.deepEqual(world.states(), ["Good", "Previous", "Refused"]);
  });

  test("gets its whole time again under a new agent, which has not seen how it did", () => {
    const world = good();
    world.edit({ args: ["two"], readinessProbe: { tcpSocket: { port: 1 } } });
    world.adopt(1000);
    assert.deepEqual(world.states(), ["Trial", "Good"]);
    world.pass(60);
    assert.deepEqual(world.states(), ["Good", "Refused"]);
  });

  test("is tried again when it changes, and then nothing is refused", () => {
    const world = good();
    world.edit({ args: ["bad"] });
    world.crash();
    world.edit({ args: ["better"] });
    assert.deepEqual([world.running.args, world.states(), world.condition()], [
      "better",
      ["Trial", "Good"],
      undefined,
    ]);
    world.pass(10);
    assert.deepEqual(world.states(), ["Good", "Previous"]);
  });

  test("leaves caps, suspend and allowExec to the spec", () => {
    const world = good({ cpuPCT: 50, allowExec: true });
    world.edit({ args: ["bad"], cpuPCT: 20, allowExec: false });
    world.crash();
    assert.deepEqual([world.record.app.spec.cpuPCT, world.record.app.spec.allowExec], [20, false]);
    world.edit({ args: ["bad"], cpuPCT: 30, suspend: true });
    assert.deepEqual([world.record.phase, world.record.app.spec.cpuPCT], ["Stopped", 30]);
    world.edit({ args: ["bad"], suspend: false });
    assert.deepEqual([world.record.phase, world.running.args], ["Running", undefined]);
  });

  test("is tried again once a failure is no longer to go back", () => {
    for (const next of [undefined, { ...update, onFailure: "Keep" as const }]) {
      const world = good();
      world.edit({ args: ["bad"] });
      world.crash();
      world.edit({ args: ["bad"], update: next });
      assert.deepEqual([world.running.args, world.condition()], ["bad", undefined]);
    }
  });

  test("of an app that runs once does not run what it had done before", () => {
    const world = createWorld({ restartPolicy: "Never" });
    world.crash(0);
    world.edit({ args: ["bad"] });
    world.crash();
    assert.deepEqual([world.record.phase, world.states()], ["Failed", ["Trial", "Good"]]);
  });

  test("that works is not blamed for a clock that was set back", () => {
    const world = good();
    world.pass(3600);
    world.edit({ args: ["two"] });
    world.pass(-3000);
    world.pass(60);
    assert.deepEqual(world.states(), ["Good", "Previous"]);
  });

  test("stays under Keep, without a good version, and in a set", () => {
    const kept = good({ update: { ...update, onFailure: "Keep" } });
    kept.edit({ args: ["bad"] });
    kept.crash();
    assert.deepEqual([kept.record.phase, kept.record.app.spec.args], ["BackOff", ["bad"]]);
    const first = createWorld();
    first.crash();
    assert.deepEqual([first.record.phase, first.states()], ["BackOff", ["Trial"]]);
    const set = createWorld({}, { annotations: { [annotations.written]: "hash" } });
    set.pass(10);
    set.edit({ args: ["bad"] });
    set.crash();
    assert.deepEqual([set.record.phase, set.record.app.spec.args], ["BackOff", ["bad"]]);
    assert.match(refuseOrder(set.record, "undo") ?? "", /belongs to a set/);
  });

  for (const reason of ["eviction", "reboot"] as const) {
    test(`is not blamed for an ${reason}`, () => {
      const world = good();
      world.edit({ args: ["new"] });
      if (reason === "reboot") world.settle({ rebooted: true, processes: [], launcherAlive: false });
      else {world.settle({
          rebooted: true,
          exit: { code: 143, at: start, terminated: true },
          processes: [],
          launcherAlive: false,
        });}
      assert.deepEqual(world.running.args, "new");
    });
  }
});

describe("a script that changed under the same spec", () => {
  test("is on trial, and if it fails, the content of the last good one runs in its place", () => {
    const world = good();
    world.write("s2");
    world.order("restart");
    assert.deepEqual([world.running.script, world.states()], ["s2", ["Trial", "Good"]]);
    world.crash();
    assert.deepEqual([world.record.phase, world.running.script, world.states()], ["Running", "s1", [
      "Good",
      "Refused",
    ]]);
    world.order("restart");
    assert.equal(world.running.script, "s1", "the same content is not tried again");
    world.write("s3");
    world.order("restart");
    assert.deepEqual([world.running.script, world.states()], ["s3", ["Trial", "Good"]]);
  });

  test("backs off like any other if the good one was lost: it does not go back twice", () => {
    const world = good();
    world.write("s2");
    world.order("restart");
    world.loseScripts();
    world.crash();
    assert.equal(world.running.script, "s2");
    world.crash();
    assert.deepEqual([world.record.phase, world.record.failures], ["BackOff", 2]);
  });

  test("that is not ready in time is stopped for the last good one", () => {
    const world = good({ readinessProbe: undefined });
    world.edit({ readinessProbe: { tcpSocket: { port: 1 } } });
    world.ready(true);
    world.pass(10);
    world.write("s2");
    world.order("restart");
    world.pass(60);
    assert.deepEqual([world.running.script, world.condition()?.reason], ["s1", "ProgressDeadlineExceeded"]);
  });
});

describe("undo", () => {
  test("of a version on trial goes back to the good one; of a good one to the one before, and forth again", () => {
    const world = good();
    world.edit({ args: ["two"] });
    world.order("undo");
    assert.deepEqual([world.running.args, world.states()], [undefined, ["Good", "Refused"]]);
    world.edit({ args: ["three"] });
    world.pass(10);
    assert.deepEqual(world.states(), ["Good", "Previous"]);
    world.order("undo");
    assert.deepEqual([world.running.args, world.condition()?.reason], [undefined, "UndoneByOperator"]);
    world.order("undo");
    assert.deepEqual([world.running.args, world.condition()], ["three", undefined]);
  });

  test("brings back the script, too", () => {
    const world = good();
    world.write("s2");
    world.order("restart");
    world.pass(10);
    assert.deepEqual(world.states(), ["Good", "Previous"]);
    world.order("undo");
    assert.equal(world.running.script, "s1");
    world.order("undo");
    assert.equal(world.running.script, "s2");
  });

  test("works for apps without update, and is refused without another good version", () => {
    const world = createWorld({ update: undefined });
    world.pass(10);
    assert.match(refuseOrder(world.record, "undo") ?? "", /nothing to undo/);
    world.edit({ args: ["two"] });
    world.crash();
    world.order("undo");
    assert.deepEqual([world.record.phase, world.running.args], ["Running", undefined]);
  });

  test("is asked for by an annotation, once for each value", () => {
    const world = good();
    world.edit({ args: ["two"] });
    world.pass(10);
    const asked = { annotations: { [annotations.undoneAt]: "1" } };
    world.edit({ args: ["two"] }, asked);
    assert.equal(world.running.args, undefined);
    world.edit({ args: ["two"], cpuPCT: 5 }, asked);
    assert.equal(world.running.args, undefined, "not undone again");
    world.edit({ args: ["two"] }, { annotations: { [annotations.undoneAt]: "2" } });
    assert.equal(world.running.args, "two");
  });
});

/** What may happen to an app, in any order; names are methods of the world. */
const step = fc.oneof(
  fc.tuple(fc.constant("edit" as const), fc.constantFrom("a", "b", "c")),
  fc.tuple(fc.constant("write" as const), fc.constantFrom("s1", "s2", "s3")),
  fc.tuple(fc.constant("pass" as const), fc.constantFrom(1, 10, 70)),
  fc.tuple(fc.constantFrom("crash", "restart", "undo", "stop", "start", "reload"), fc.constant("")),
);

test("in every history, what runs and is refused is never the same, a good version is kept, and a kill of the agent changes nothing", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const [world, killed] = [createWorld(), createWorld()];
      let wasGood = false;
      for (const [what, value] of steps) {
        for (const each of [world, killed]) {
          if (what === "edit") each.edit({ args: [value as string] });
          else if (what === "write") each.write(value as string);
          else if (what === "pass") each.pass(value as number);
          else if (what === "crash") each.crash();
          else if (what !== "reload") each.order(what as "restart");
        }
        killed.reload();
        const { record } = world;
        assert.deepEqual(JSON.parse(JSON.stringify(record)), JSON.parse(JSON.stringify(killed.record)));
        const { refused, good, app, run, phase } = record;
        wasGood ||= good !== undefined;
        assert.equal(good !== undefined, wasGood, "a good version is never lost");
        if (!refused) continue;
        assert.ok(good, "nothing is refused without a good version");
        assert.equal(revisionOf(app), good.revision, "what is in force is good");
        if (phase === "Running" && run?.hash === runHash(app) && revisionOf(refused.app) === good.revision) {
          assert.notEqual(world.running.script, refused.script, "a refused script does not run");
        }
      }
    }),
    runs(300),
  );
});
