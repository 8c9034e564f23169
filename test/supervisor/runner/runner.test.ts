import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../../src/lib/log.ts";
import type { CapsState } from "../../../src/supervisor/confinement/confinement.ts";
import { AppRunner, type RunnerDeps } from "../../../src/supervisor/runner/runner.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
import { waitFor } from "../../wait-for.ts";
import { appWith, recordWith, runOf, start, viewWith } from "../fixtures.ts";

/** A runner whose effects are noted down, in order, and do nothing but for those that are given. */
function runnerOf(record: AppRecord, given: Partial<RunnerDeps> = {}) {
  const done: string[] = [];
  const note = (what: string) => async (_: AppRecord, run: { id: string }) =>
    void done.push(`${what} ${run.id}`);
  const deps: RunnerDeps = {
    save: async () => {},
    leafOf: () => "",
    observe: async () => viewWith(),
    cancel: async ({ id }) => void done.push(`cancel ${id}`),
    thaw: note("thaw"),
    startRun: async (_, { id }) => {
      done.push(`start ${id}`);
      return {};
    },
    isBlocked: async () => true,
    readScript: async () => undefined,
    runStopFile: note("stopFile"),
    reload: async () => ({ type: "Normal", reason: "Reloaded", message: "" }),
    terminate: note("terminate"),
    kill: note("kill"),
    copyLog: note("copyLog"),
    cleanUp: note("cleanUp"),
    ensureCaps: async () => ({ enforced: true }),
    forget: async () => {},
    logTail: async () => "",
    onEmpty: () => () => {},
    now: () => start,
    bootId: "boot-1",
    newRunId: () => "run-2",
    log: silentLogger,
    onChange: () => {},
    onEvent: () => {},
    onForgotten: () => {},
    ...given,
  };
  return { runner: new AppRunner(record, deps), done };
}

/** A gate that effects wait at, and that says when one has come. */
function createGate() {
  const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  return {
    reached: reached.promise,
    open: opened.resolve,
    async pass() {
      reached.resolve();
      await opened.promise;
    },
  };
}

test("the wait for a launcher counts from its spawn, however long the start took", async () => {
  let now = start;
  const looks: number[] = [];
  const { runner, done } = runnerOf(recordWith(), {
    now: () => now,
    startRun: async () => {
      now += 60_000;
      return {};
    },
    observe: async (_record, _run, waitedMs = Infinity) => {
      looks.push(waitedMs);
      return viewWith({ claim: "none", launcherAlive: false, started: undefined, processes: [] });
    },
  });
  runner.poke();
  await waitFor("the run is looked at", () => looks.length > 0);
  await runner.close();
  assert.deepEqual(done, []);
  assert.ok(looks[0]! < 10_000, `${looks[0]} ms`);
});

test("while a run waits for its launcher, its log is not read", async () => {
  let [looks, reads] = [0, 0];
  const { runner } = runnerOf(recordWith(), {
    observe: async () => {
      looks++;
      return viewWith({ claim: "none", launcherAlive: false, started: undefined, processes: [] });
    },
    logTail: async () => {
      reads++;
      return "";
    },
  });
  runner.poke();
  await waitFor("the run is looked at", () => looks > 0);
  await runner.close();
  assert.equal(reads, 0);
});

for (const end of ["halt", "close"] as const) {
  test(`a start that is being saved when the agent stops is canceled: ${end}()`, async () => {
    const gate = createGate();
    const launches: boolean[] = [];
    const { runner } = runnerOf(recordWith(), {
      save: () => gate.pass(),
      startRun: async (_record, _run, signal) => {
        launches.push(signal.aborted);
        return {};
      },
    });
    runner.poke();
    await gate.reached;
    const ended = runner[end]("AgentStopped");
    gate.open();
    await ended;
    await runner.close();
    assert.deepEqual(launches, [true]);
  });
}

test("an agent that ends does not wait for a stop file, and leaves what comes after it to the next", async () => {
  const app = appWith({ stopFile: "/opt/stop.sh" });
  const stop = { reason: "Deleted" as const, message: "", since: start, deadline: start + 600_000 };
  const record = recordWith({ app, phase: "Stopping", withdrawn: true, run: runOf(app, { stop }) });
  const begun = Promise.withResolvers<void>();
  const { runner, done } = runnerOf(record, {
    runStopFile: async (_record, _run, signal) => {
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return undefined;
    },
  });
  runner.poke();
  await begun.promise;
  await runner.close();
  assert.deepEqual(done, []);
});

test("a freeze that a crash left behind is undone for every run of an app that is stopping", async () => {
  const app = appWith();
  const others = [runOf(app, { id: "run-0" })];
  const { runner, done } = runnerOf(recordWith({ app, phase: "Stopping", run: runOf(app), others }));
  await runner.adopt();
  await runner.close();
  assert.deepEqual(done.filter((what) => what.startsWith("thaw")), ["thaw run-1", "thaw run-0"]);
});

test("an app is not forgotten before all of its runs are cleaned up", async () => {
  const app = appWith();
  const record = recordWith({ app, phase: "Running", run: runOf(app), withdrawn: true });
  const done: string[] = [];
  let isStuck = true;
  const { runner } = runnerOf(record, {
    observe: async () => viewWith({ processes: [], launcherAlive: false, exit: { code: 0, at: start } }),
    cleanUp: async () => {
      done.push("cleanUp");
      if (isStuck) throw new Error("the launcher has not ended");
    },
    forget: async () => void done.push("forget"),
  });
  runner.poke();
  // Once when the run ends, and again in the step that would forget it.
  await waitFor("it is tried again", () => done.length >= 2);
  assert.deepEqual(done, ["cleanUp", "cleanUp"]);
  isStuck = false;
  runner.poke();
  await waitFor("it is forgotten", () => done.includes("forget"));
  assert.deepEqual(done, ["cleanUp", "cleanUp", "cleanUp", "forget"]);
  await runner.close();
});

test("the end of a run is reported while its clean-up is held up, and the next start waits for the clean-up", async () => {
  const app = appWith({ restartPolicy: "Always", backoffSeconds: 0 });
  const [gate, told] = [createGate(), [] as string[]];
  let now = start;
  const { runner, done } = runnerOf(recordWith({ app, phase: "Running", run: runOf(app) }), {
    now: () => now,
    observe: async () => viewWith({ processes: [], launcherAlive: false, exit: { code: 3, at: start } }),
    cleanUp: () => gate.pass(),
    onChange: ({ phase, lastExit }) => void told.push(`${phase} ${lastExit?.code}`),
    onEvent: (_, { message }) => void told.push(message),
  });
  runner.poke();
  await gate.reached;
  assert.deepEqual(told, ["Ended with status 3: Error", "BackOff 3"]);
  now += 60_000;
  runner.poke();
  assert.equal(done.length, 0);
  gate.open();
  await waitFor("it starts again", () => done.includes("start run-2"));
  await runner.close();
});

test("the end of a deleted app is reported when it is cleaned up: its node lets it go", async () => {
  const app = appWith({}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  const stop = { reason: "Deleted" as const, message: "", since: start, deadline: start + 600_000 };
  const [gate, told] = [createGate(), [] as string[]];
  const { runner } = runnerOf(recordWith({ app, phase: "Stopping", run: runOf(app, { stop }) }), {
    observe: async () => viewWith({ processes: [], launcherAlive: false, exit: { code: 0, at: start } }),
    cleanUp: () => gate.pass(),
    onChange: ({ run }) => void told.push(run?.id ?? "none"),
  });
  runner.poke();
  await gate.reached;
  assert.equal(told.length, 0);
  gate.open();
  await waitFor("it is reported", () => told.includes("none"));
  await runner.close();
});

test("the end of another run is reported while an earlier clean-up is tried again", async () => {
  const app = appWith();
  const [gate, told] = [createGate(), [] as string[]];
  const ended = new Set(["run-0"]);
  let failures = 0;
  const { runner } = runnerOf(
    recordWith({ app, phase: "Running", run: runOf(app), others: [runOf(app, { id: "run-0" })] }),
    {
      observe: async (_, { id }) =>
        ended.has(id)
          ? viewWith({ processes: [], launcherAlive: false, exit: { code: 3, at: start } })
          : viewWith(),
      cleanUp: () => ++failures > 2 ? gate.pass() : Promise.reject(new Error("the launcher has not ended")),
      onChange: ({ run }) => void told.push(run?.id ?? "none"),
    },
  );
  runner.poke();
  // Once when the run ends, and again in the next step.
  await waitFor("the clean-up has failed", () => failures === 2);
  ended.add("run-1");
  runner.poke();
  await gate.reached;
  assert.equal(told.at(-1), "none");
  gate.open();
  await runner.close();
});

test("a start is saved before its launcher, and the run is looked at when a mark comes", async () => {
  const done: string[] = [];
  let looks = 0;
  const { runner } = runnerOf(recordWith(), {
    save: async ({ phase }) => void done.push(`save ${phase}`),
    startRun: async () => {
      done.push("start");
      return {};
    },
    observe: async () => {
      looks++;
      return viewWith();
    },
  });
  const isRunning = () => runner.record.phase === "Running";
  runner.poke();
  await waitFor("the launcher starts", () => done.includes("start"));
  assert.equal(looks, 0);
  runner.poke();
  await waitFor("the app runs", isRunning);
  assert.deepEqual(done, ["save Starting", "start"]);
  await runner.close();
});

test("caps that a start has set are not set again when the script runs, unless the app has changed since", async () => {
  for (const change of [false, true]) {
    let [starts, sets] = [0, 0];
    const { runner } = runnerOf(recordWith(), {
      startRun: async () => {
        starts++;
        return { caps: { enforced: true } };
      },
      ensureCaps: async () => {
        sets++;
        return { enforced: true };
      },
    });
    runner.poke();
    await waitFor("the launcher starts", () => starts > 0);
    if (change) runner.assign({ app: appWith({ cpuPCT: "7" }), source: "manifest" });
    else runner.poke();
    await waitFor("the app runs", () => runner.record.phase === "Running");
    assert.deepEqual([runner.caps, sets], [{ enforced: true }, change ? 1 : 0]);
    runner.check();
    await waitFor("the next check sets them", () => sets === (change ? 2 : 1));
    await runner.close();
  }
});

test("a start whose caps are not in force yet is checked when the script runs", async () => {
  let sets = 0;
  const pending: CapsState = { enforced: false, reason: "ResizePending", message: "uses more" };
  const states: CapsState[] = [{ enforced: true }, pending];
  const { runner, done } = runnerOf(recordWith(), {
    startRun: async (_, { id }) => {
      done.push(`start ${id}`);
      return { caps: states.shift() };
    },
    // The first launcher fails, so its caps are never checked.
    observe: async () =>
      states.length > 0 ? viewWith({ failure: "no", started: undefined, processes: [] }) : viewWith(),
    ensureCaps: async () => {
      sets++;
      return pending;
    },
    now: () => start + 3_600_000 * done.length,
  });
  runner.poke();
  await waitFor("the app runs", () => runner.record.phase === "Running");
  await waitFor("its caps are set", () => sets > 0);
  assert.deepEqual(runner.caps, pending);
  await runner.close();
});

test("that an app runs is saved by the next check, and at the latest when its agent ends", async () => {
  for (const flush of ["check", "close"] as const) {
    const saved: string[] = [];
    const { runner } = runnerOf(recordWith({ phase: "Starting", run: runOf(appWith()) }), {
      save: async ({ phase }) => void saved.push(phase),
    });
    runner.poke();
    await waitFor("the app runs", () => runner.record.phase === "Running");
    assert.deepEqual(saved, []);
    if (flush === "check") {
      await waitFor("the record is saved", () => (runner.check(), saved.length > 0));
    }
    await runner.close();
    assert.deepEqual(saved, ["Running"]);
  }
});

test("what the marks do not say, or must not happen twice, is saved as soon as the app runs", async () => {
  const never = appWith({ restartPolicy: "Never" });
  const daemon = { exit: { code: 0, at: start }, processes: [200] };
  for (const [app, view] of [[never, {}], [appWith(), daemon]] as const) {
    const saved: string[] = [];
    const { runner } = runnerOf(recordWith({ app, phase: "Starting", run: runOf(app) }), {
      save: async ({ phase }) => void saved.push(phase),
      observe: async () => viewWith(view),
    });
    runner.poke();
    await waitFor("the app runs", () => runner.record.phase === "Running");
    assert.deepEqual(saved, ["Running"]);
    await runner.close();
  }
});

test("an agent ends although what is in the marks cannot be saved", async () => {
  const { runner } = runnerOf(recordWith({ phase: "Starting", run: runOf(appWith()) }), {
    save: () => Promise.reject(new Error("the disk is full")),
  });
  runner.poke();
  await waitFor("the app runs", () => runner.record.phase === "Running");
  await runner.close();
});

test("a start that fails although nothing is missing is tried once for that, then waits for its time", async () => {
  let [looks, starts] = [0, 0];
  const { runner } = runnerOf(recordWith(), {
    isBlocked: async () => {
      looks++;
      return false;
    },
    startRun: async () => {
      starts++;
      return { problem: { reason: "ScriptUnreadable", message: "cannot be read" } };
    },
    observe: async () => viewWith({ claim: "cancelled", started: undefined, processes: [] }),
  });
  runner.poke();
  await waitFor("the cause is looked at again", () => looks >= 3);
  await runner.close();
  assert.equal(starts, 2);
});
