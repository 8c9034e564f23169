import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { annotations } from "../../../src/api/names.ts";
import type { NCAppSpec } from "../../../src/api/types.ts";
import { decide, decideAll, type Situation } from "../../../src/supervisor/decide/decide.ts";
import { signalTime, stopFileMs } from "../../../src/supervisor/decide/stop-times.ts";
import type { AppRecord, Run, RunView, ScriptExit } from "../../../src/supervisor/types.ts";
import { appWith, killCounts, recordWith, runOf, start, viewWith } from "../fixtures.ts";
import { runs } from "../../properties.ts";
import { daemonEnded, exited, kinds, look, situation, step } from "./decide-fixtures.ts";

function running(fields: Partial<AppRecord> = {}): AppRecord {
  const app = fields.app ?? appWith();
  return recordWith({ app, phase: "Running", reason: "Running", run: runOf(app), ...fields });
}

const deleted = (spec?: NCAppSpec) => {
  const app = appWith(spec);
  return { ...app, metadata: { ...app.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
};

describe("a pending app", () => {
  test("without a script stays, and says that there is nothing to run", () => {
    const { record, effects } = look(recordWith({ app: appWith({ shellFile: "" }) }));
    assert.equal(record.phase, "Pending");
    assert.equal(record.reason, "NoShellFile");
    assert.deepEqual(effects, []);
  });

  test("is not written again while nothing changes", () => {
    const first = step(recordWith({ app: appWith({ shellFile: "" }) }));
    assert.equal(step(first, { now: start + 5000 }), first);
  });

  test("has its run in the record before it is started", () => {
    const decision = look(recordWith());
    assert.equal(decision.record.phase, "Starting");
    assert.equal(decision.record.run?.id, "run-2");
    assert.deepEqual(kinds(decision), ["start"]);
  });

  test("that is suspended is not started", () => {
    const { record, effects } = look(recordWith({ app: appWith({ suspend: true }) }));
    assert.deepEqual([record.phase, record.reason], ["Stopped", "Suspended"]);
    assert.deepEqual(effects, []);
  });

  test("that another node still holds is not started, and names that node", () => {
    const { record, effects } = look(recordWith({ heldBy: "node-b" }));
    assert.deepEqual([record.phase, record.reason, record.message, effects], [
      "Pending",
      "StillStopping",
      "waiting until it has stopped on node node-b",
      [],
    ]);
    assert.deepEqual(kinds(look({ ...record, heldBy: undefined })), ["start"]);
  });

  test("that is being deleted is not started, whatever it did before", () => {
    const scheduled = { schedule: "* * * * * ", nextRun: start - 1 };
    const now = situation({ nextRun: (after) => after + 60_000 });
    for (const phase of ["Pending", "BackOff", "Failed", "Succeeded"] as const) {
      for (const app of [deleted(), deleted({ schedule: "* * * * *" }), deleted({ cpuPCT: 200 })]) {
        const invalid = app.spec.cpuPCT ? "spec.cpuPCT: 200" : undefined;
        const record = recordWith({
          app,
          phase,
          scheduled,
          invalid,
          toldInvalid: invalid,
          lastHash: "before",
        });
        const next = decide(record, now);
        assert.deepEqual(kinds(next), [], `${phase} ${JSON.stringify(app.spec)}`);
        const isOver = phase === "Failed" || phase === "Succeeded";
        if (!isOver) assert.deepEqual([next.record.phase, next.record.reason], ["Pending", "Deleted"]);
        assert.equal(decide(next.record, now).record, next.record, "it rests");
      }
    }
  });

  test("with an invalid spec is not started, and says what is wrong", () => {
    const { record, effects, events } = look(recordWith({ invalid: "spec.cpuPCT: 200" }));
    assert.deepEqual([record.reason, record.message, effects], ["InvalidSpec", "spec.cpuPCT: 200", []]);
    assert.deepEqual(events.map(({ type, reason }) => [type, reason]), [["Warning", "InvalidSpec"]]);
    assert.deepEqual(look(record), { record, effects: [], events: [] });
  });

  test("is not started from an invalid spec, whatever it did before", () => {
    const scheduled = { schedule: "* * * * * ", nextRun: start - 1 };
    const now = situation({ nextRun: (after) => after + 60_000 });
    for (const phase of ["BackOff", "Failed", "Succeeded"] as const) {
      for (const app of [appWith(), appWith({ schedule: "* * * * *" })]) {
        const record = recordWith({ app, phase, invalid: "spec.cpuPCT: 200", retryAt: start - 1, scheduled });
        const first = decide(record, now);
        assert.deepEqual([first.effects, decide(first.record, now).effects], [[], []], phase);
      }
    }
  });
});

describe("an app with an invalid edit", () => {
  const invalidEdit = "spec.cpuPCT: 200";

  test("runs on, and reports the edit once", () => {
    const first = look(running({ invalidEdit }), { view: viewWith() });
    assert.deepEqual([first.record.phase, first.record.run, kinds(first)], [
      "Running",
      running().run,
      ["ensureCaps"],
    ]);
    assert.deepEqual(first.events.map(({ reason }) => reason), ["InvalidSpec"]);
    const second = look(first.record, { view: viewWith() });
    assert.deepEqual([second.record === first.record, second.events], [true, []]);
  });

  test("is started again by its last valid spec when it has ended", () => {
    const ended = step(running({ invalidEdit }), { view: exited(1) });
    assert.equal(ended.phase, "BackOff");
    assert.equal(step(ended, { now: ended.retryAt! }).phase, "Starting");
  });
});

describe("an app that is starting", () => {
  const app = appWith({ backoffSeconds: 10 });
  const starting = recordWith({
    app,
    phase: "Starting",
    run: runOf(app, { startedAt: undefined, main: undefined }),
  });

  test("runs when its launcher says so, with the script's process in the record", () => {
    const { record, events } = look(starting, { view: viewWith() });
    assert.equal(record.phase, "Running");
    assert.deepEqual(record.run?.main, { pid: 100, startTime: "7" });
    assert.deepEqual(events.map(({ reason }) => reason), ["Started"]);
  });

  test("waits while its launcher has written nothing", () => {
    const decision = look(starting, { view: viewWith({ started: undefined, processes: [] }) });
    assert.equal(decision.record, starting);
    assert.ok(decision.wakeAt);
  });

  test("that could not be started is pending with the reason, and tried again soon", () => {
    const problem = { reason: "ScriptNotFound", message: "no such file" } as const;
    const record = step(starting, { view: viewWith({ started: undefined }), problem });
    assert.deepEqual([record.phase, record.reason, record.retryAt, record.run], [
      "Pending",
      "ScriptNotFound",
      start + 1000,
      undefined,
    ]);
    assert.equal(step(record, { now: start + 999 }), record);
    assert.equal(step(record, { now: start + 1000 }).phase, "Starting");
  });

  test("that waits for its Secrets is no warning, since its node may read them a moment later", () => {
    const types = (["WaitingForSecrets", "MissingKey"] as const).map((reason) => {
      const problem = { reason, message: "spec.env: X" };
      const { record, events } = look(starting, { view: viewWith({ started: undefined }), problem });
      return [record.phase, record.retryAt, events[0]?.type];
    });
    assert.deepEqual(types, [["Pending", start + 1000, "Normal"], ["Pending", start + 1000, "Warning"]]);
  });

  test("that failed is tried at once when its spec changes", () => {
    const problem = { reason: "ScriptNotFound", message: "no such file" } as const;
    const record = step(starting, { view: viewWith({ started: undefined }), problem });
    const changed = { ...record, app: appWith({ shellFile: "/opt/other.sh" }) };
    assert.equal(step(changed, { now: start + 1 }).phase, "Starting");
  });

  test("whose run was canceled starts again with another run", () => {
    const cancelled = step(starting, { view: viewWith({ claim: "cancelled", started: undefined }) });
    assert.deepEqual([cancelled.phase, cancelled.run], ["Pending", undefined]);
    assert.equal(step(cancelled).run?.id, "run-2");
  });
});

describe("an app whose launcher writes nothing", () => {
  const app = appWith();
  const starting = recordWith({
    app,
    phase: "Starting",
    run: runOf(app, { startedAt: undefined, main: undefined }),
  });
  const silent = viewWith({ claim: "none", launcherAlive: false, started: undefined, processes: [] });

  test("is canceled after ten seconds, so that it can be started again or deleted", () => {
    assert.deepEqual(kinds(look(starting, { view: silent, waitedMs: 9000 })), []);
    assert.deepEqual(kinds(look(starting, { view: silent, waitedMs: 11_000 })), ["cancel"]);
  });

  test("is not canceled for the time that its preparation took, nor for a clock that was set", () => {
    for (const now of [start + 11_000, start - 86_400_000]) {
      assert.deepEqual(kinds(look(starting, { view: silent, now, waitedMs: 5 })), []);
    }
  });

  test("counts as running if its processes live and only the mark of the start is lost", () => {
    const lives = viewWith({ started: undefined });
    assert.equal(step(starting, { view: lives, waitedMs: 9000 }), starting);
    const { record, effects } = look(starting, { view: lives, waitedMs: 11_000 });
    assert.deepEqual([record.phase, record.run?.id, effects], ["Running", "run-1", []]);
  });
});

describe("an agent that stops its apps on exit", () => {
  const halted = (fields: Partial<Situation> = {}) => situation({ halted: "AgentStopped", ...fields });

  test("stops what runs, starts nothing, and keeps the records", () => {
    const stopping = decide(running(), halted({ view: viewWith() })).record;
    assert.equal(stopping.run?.stop?.reason, "AgentStopped");
    const stopped = decide(stopping, halted({ view: exited(143) })).record;
    assert.deepEqual([stopped.phase, stopped.run, stopped.withdrawn], ["Pending", undefined, undefined]);
    assert.equal(decide(stopped, halted()).record, stopped);
    assert.equal(step(stopped).phase, "Starting");
  });

  test("does not wake what waits or has ended", () => {
    for (const phase of ["Pending", "BackOff", "Succeeded", "Failed"] as const) {
      const record = recordWith({ phase });
      assert.equal(decide(record, halted()).record, record);
    }
  });
});

describe("an agent whose node is shutting down", () => {
  const halted = (fields: Partial<Situation> = {}) => situation({ halted: "NodeShutdown", ...fields });
  const stop = (restartPolicy: "Always" | "OnFailure" | "Never", code: number) => {
    const app = appWith({ restartPolicy, stopFile: "/opt/stop.sh", terminationGracePeriodSeconds: 40 });
    const stopping = decide(running({ app }), halted({ view: viewWith() })).record;
    return { stopping, stopped: decide(stopping, halted({ view: exited(code) })).record };
  };

  test("gives an app its stop file and its grace period", () => {
    const { stopping } = stop("Always", 0);
    assert.deepEqual(stopping.run?.stop, {
      reason: "NodeShutdown",
      message: "",
      since: start,
      deadline: start + 40_000,
    });
    const { effects } = decide(stopping, halted({ view: viewWith() }));
    assert.deepEqual(effects.map(({ kind }) => kind), ["stopFile"]);
  });

  test("starts nothing again; the agent of the next boot does so without a wait, though the script ended with 0", () => {
    for (const policy of ["Always", "OnFailure"] as const) {
      const { stopped } = stop(policy, 0);
      assert.deepEqual([stopped.phase, stopped.lastExit?.reason], ["BackOff", "NodeRebooted"]);
      assert.equal(decide(stopped, halted()).record, stopped);
      assert.equal(step(stopped, { bootId: "boot-2" }).phase, "Starting");
    }
    assert.equal(stop("Never", 0).stopped.phase, "Failed");
  });

  test("that lost power during the stop leaves the rest to the agent of the next boot", () => {
    const view = viewWith({ processes: [], launcherAlive: false, rebooted: true });
    const record = step(stop("OnFailure", 0).stopping, { view });
    assert.deepEqual([record.phase, record.lastExit?.reason], ["BackOff", "NodeRebooted"]);
  });

  test("counts a run that ended before the stop by its own status", () => {
    const app = appWith({ restartPolicy: "OnFailure" });
    assert.equal(decide(running({ app }), halted({ view: exited(0) })).record.phase, "Succeeded");
  });
});

describe("a running app", () => {
  test("that is being deleted stops as a kubelet stops a Pod, and does not start again", () => {
    const record = running();
    const stopping = look({ ...record, app: deleted() }, { view: viewWith() });
    assert.deepEqual([stopping.record.phase, stopping.record.reason], ["Stopping", "Deleted"]);
    assert.deepEqual(stopping.events.map(({ reason, message }) => [reason, message]), [
      ["Stopping", "Stopping: the app was deleted, unbound or moved to another node"],
    ]);
    assert.deepEqual(kinds(look(stopping.record, { view: viewWith() })), ["terminate"]);
    const ended = look(stopping.record, { view: exited(0) });
    const last = look(ended.record);
    assert.deepEqual([last.record.phase, last.record.reason, kinds(last)], ["Pending", "Deleted", []]);
  });

  test("with nothing to do keeps its record and its limits", () => {
    const record = running();
    const decision = look(record, { view: viewWith() });
    assert.equal(decision.record, record);
    assert.deepEqual(kinds(decision), ["ensureCaps"]);
  });

  test("whose script ended well but left processes lives on: it daemonized", () => {
    const record = running();
    const view = viewWith({ exit: { code: 0, at: start }, launcherAlive: false, processes: [103, 101] });
    const next = step(record, { view });
    assert.deepEqual([next.phase, next.run], ["Running", { ...record.run, survivor: 101 }]);
    assert.equal(step(next, { view }), next);
  });

  test("that daemonized shows another of its processes only when the one that was shown is gone", () => {
    const ended = { exit: { code: 0, at: start }, launcherAlive: false };
    const shown = (record: AppRecord, processes: number[]) =>
      step(record, { view: viewWith({ ...ended, processes }) });
    const first = shown(running(), [100, 103]);
    assert.equal(first.run?.survivor, 103);
    assert.equal(shown(first, [102, 103]), first);
    assert.equal(shown(first, [104, 105]).run?.survivor, 104);
    assert.equal(step(running(), { view: viewWith() }).run?.survivor, undefined);
  });

  test("whose script failed and left processes is stopped as failed", () => {
    const view = viewWith({ exit: { code: 3, at: start }, launcherAlive: false, processes: [101] });
    const record = step(running(), { view });
    assert.equal(record.phase, "Stopping");
    assert.equal(record.run?.stop?.reason, "ScriptFailed");
  });

  test("does not count as ended while its launcher is about to write the exit status", () => {
    const record = running();
    const decision = look(record, { view: viewWith({ processes: [] }) });
    assert.equal(decision.record, record);
    assert.ok(decision.wakeAt);
  });

  for (
    const [what, changed] of Object.entries({
      "limits": appWith({ cpuPCT: "20", memPCT: "10" }),
      "probes": appWith({ livenessProbe: { tcpSocket: { port: 80 } } }),
      "policies": appWith({ restartPolicy: "Never", backoffSeconds: 1 }),
      "grace": appWith({ terminationGracePeriodSeconds: 1 }),
    })
  ) {
    test(`goes on through a change of its ${what}`, () => {
      const record = { ...running(), app: changed };
      assert.equal(step(record, { view: viewWith() }).phase, "Running");
    });
  }

  for (
    const [what, changed] of Object.entries({
      "script": appWith({ shellFile: "/opt/other.sh" }),
      "digest": appWith({ shellFileSHA256: "0".repeat(64) }),
      "arguments": appWith({ args: ["--fast"] }),
      "environment": appWith({ env: [{ name: "A", value: "1" }] }),
      "user": appWith({ runAsUser: "nobody" }),
      "folder": appWith({ workingDir: "/srv" }),
      "restartedAt annotation": appWith({}, { annotations: { [annotations.restartedAt]: "now" } }),
    })
  ) {
    test(`is stopped for a change of its ${what}`, () => {
      const record = step({ ...running(), app: changed }, { view: viewWith() });
      assert.deepEqual([record.phase, record.run?.stop?.reason], ["Stopping", "Updated"]);
    });
  }

  test("is stopped with a reason of its own if a restart was requested", () => {
    const { createdAt } = running().run!;
    const asked = (at: number) =>
      look({
        ...running(),
        app: appWith({}, { annotations: { [annotations.restartedAt]: new Date(at).toISOString() } }),
      }, { view: viewWith() });
    assert.equal(asked(createdAt + 1000).record.run?.stop?.reason, "Restarted");
    assert.match(asked(createdAt + 1000).events[0]!.message, /^Stopping: a restart was requested/);
    assert.equal(asked(createdAt - 1000).record.run?.stop?.reason, "Updated");
  });

  test("gets its grace period from the spec", () => {
    const app = appWith({ terminationGracePeriodSeconds: 7 });
    const record = step(running({ app, withdrawn: true }), { view: viewWith() });
    assert.equal(record.run?.stop?.deadline, start + 7000);
  });

  test("whose probe failed is stopped with the probe's message", () => {
    const record = step(running(), { view: viewWith(), probeFailure: "Liveness probe failed: 503" });
    assert.deepEqual([record.run?.stop?.reason, record.message], [
      "ProbeFailed",
      "Liveness probe failed: 503",
    ]);
  });
});

describe("an app that is stopping", () => {
  const app = appWith({ terminationGracePeriodSeconds: 5, stopFile: "/opt/stop.sh" });
  const stop = { reason: "Deleted" as const, message: "", since: start, deadline: start + 5000 };
  const stopping = recordWith({ app, phase: "Stopping", withdrawn: true, run: runOf(app, { stop }) });

  const problem = 'spec.stopFile: "/opt/stop.sh" ended with status 3';
  const afterFile = (end: { problem?: string }, at: number) =>
    look(stopping, { view: viewWith(), stopFileEnd: end, now: at });

  test("has its stop file run, and nothing else meanwhile", () => {
    assert.deepEqual(kinds(look(stopping, { view: viewWith() })), ["stopFile"]);
  });

  test("has half of what its stop file left of the grace period to end by itself, then gets the signal", () => {
    const ended = afterFile({}, start + 1000);
    assert.deepEqual([kinds(ended), ended.events], [[], []]);
    const at = (ms: number) => look(ended.record, { view: viewWith(), now: start + ms });
    assert.deepEqual([1000, 2999, 3000].map((ms) => kinds(at(ms))), [[], [], ["terminate"]]);
    assert.deepEqual([1000, 2999].map((ms) => at(ms).wakeAt), [start + 2000, start + 3000]);
  });

  test("gets the signal at once if its stop file failed; event, message and last exit say why", () => {
    const ended = afterFile({ problem }, start + 1000);
    const message = `${problem}; SIGTERM follows`;
    assert.deepEqual(ended.events, [{ type: "Warning", reason: "StopFileFailed", message }]);
    assert.equal(ended.record.message, problem);
    assert.deepEqual(kinds(look(ended.record, { view: viewWith(), now: start + 1000 })), ["terminate"]);
    const over = look(ended.record, { view: exited(143), now: start + 1001 });
    assert.deepEqual([over.record.lastExit?.reason, over.record.lastExit?.message], ["Stopped", problem]);
  });

  test("does not have its stop file run again by the next agent, once it has ended", () => {
    const { record } = afterFile({}, start + 1000);
    assert.deepEqual(kinds(look(record, { view: viewWith(), now: start + 4000 })), ["terminate"]);
  });

  test("has a part of the grace period left after every stop file, to handle the signal", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 86_400_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.boolean(),
        (graceMs, used, fails) => {
          const begun = { ...stop, deadline: start + graceMs };
          const most = stopFileMs(begun, start);
          const at = start + used * most;
          const file = { at, ...(fails ? { problem } : {}) };
          const signalAt = signalTime(app, { ...begun, file })!;
          assert.ok(signalAt >= at && signalAt <= begun.deadline - graceMs * 0.05 + 0.01);
          if (fails) assert.equal(signalAt, at);
        },
      ),
      runs(200),
    );
  });

  test("gets no second SIGTERM from the same agent", () => {
    assert.deepEqual(kinds(look(stopping, { view: viewWith(), terminated: true })), []);
  });

  test("is killed when the grace period is over", () => {
    const decision = look(stopping, { view: viewWith(), terminated: true, now: start + 5000 });
    assert.deepEqual(kinds(decision), ["kill"]);
  });

  test("is killed, not waited for, when the clock was set back", () => {
    const decision = look(stopping, { view: viewWith(), terminated: true, now: start - 86_400_000 });
    assert.deepEqual(kinds(decision), ["kill"]);
  });

  test("is forgotten only when nothing of it is left", () => {
    const gone = look(stopping, { view: exited(143) });
    assert.deepEqual(kinds(gone), ["cleanUp"]);
    assert.deepEqual(kinds(look(gone.record)), ["forget"]);
  });

  test("for an update starts again at once, and it counts as no restart", () => {
    const updated = {
      ...stopping,
      withdrawn: undefined,
      run: runOf(app, { stop: { ...stop, reason: "Updated" as const } }),
    };
    const gone = step(updated, { view: exited(143) });
    const again = step(gone);
    assert.deepEqual([again.phase, again.restarts, again.failures], ["Starting", 0, 0]);
  });

  test("that is wanted again meanwhile is not forgotten", () => {
    const wanted = { ...stopping, withdrawn: undefined };
    const gone = step(wanted, { view: exited(143) });
    assert.equal(step(gone).phase, "Starting");
  });
});

describe("an app that has ended", () => {
  const daemonized = (restartPolicy: NCAppSpec["restartPolicy"], fields: Partial<Run> = {}) => {
    const app = appWith({ restartPolicy });
    return running({ app, run: runOf(app, { survivor: 101, ...fields }) });
  };
  const end = (spec: Parameters<typeof appWith>[0], code: number, fields: Partial<AppRecord> = {}) =>
    step(running({ app: appWith(spec), ...fields }), { view: exited(code), logTail: "last words" });

  test("waits for the backoff and is started again under Always, whatever its status", () => {
    for (const code of [0, 1]) {
      const record = end({ restartPolicy: "Always" }, code);
      assert.deepEqual([record.phase, record.retryAt], ["BackOff", start + 10_000]);
      const again = step(record, { now: start + 10_000 });
      assert.deepEqual([again.phase, again.restarts], ["Starting", 1]);
    }
  });

  test("follows OnFailure and Never", () => {
    assert.equal(end({ restartPolicy: "OnFailure" }, 0).phase, "Succeeded");
    assert.equal(end({ restartPolicy: "OnFailure" }, 1).phase, "BackOff");
    assert.equal(end({ restartPolicy: "Never" }, 0).phase, "Succeeded");
    assert.equal(end({ restartPolicy: "Never" }, 1).phase, "Failed");
  });

  test("with status 137 by itself was not killed", () => {
    const ended = (signal: number) => {
      const view = { ...exited(137, signal), kills: killCounts(1) };
      const { lastExit } = step(running(), { view });
      return [lastExit?.code, lastExit?.signal, lastExit?.reason];
    };
    assert.deepEqual(ended(0), [137, undefined, "Error"]);
    assert.deepEqual(ended(9), [137, "SIGKILL", "OOMKilled"]);
    assert.deepEqual(ended(64), [137, "SIG64", "Error"]);
  });

  test("keeps its status, signal, reason and last log lines", () => {
    const { lastExit } = decide(running(), situation({ view: exited(137, 9), logTail: "last words" })).record;
    assert.deepEqual([lastExit?.code, lastExit?.signal, lastExit?.reason, lastExit?.message], [
      137,
      "SIGKILL",
      "Error",
      "last words",
    ]);
  });

  test("by the kernel's own count was OOM killed", () => {
    const view = { ...exited(137, 9), kills: killCounts(3) };
    const { record, events } = look(running(), { view });
    assert.deepEqual([record.lastExit?.reason, record.oomKills, events[0]?.reason], [
      "OOMKilled",
      3,
      "OOMKilled",
    ]);
  });

  test("by the kernel says so first, with the cap, whether or not it had left processes behind", () => {
    const app = appWith({ memPCT: "10%" });
    const exit = { code: 137, at: start, signal: 9 };
    const killed = viewWith({ exit, kills: killCounts(1), launcherAlive: false });
    const dying = look(running({ app }), { view: killed });
    const words = "the kernel killed it: out of memory (memPCT 10)";
    assert.equal(dying.record.phase, "Stopping");
    assert.equal(dying.events[0]?.message, `Stopping: the script failed: ${words}`);
    const over = { view: { ...killed, processes: [] }, logTail: "last words" };
    assert.equal(step(dying.record, over).lastExit?.message, `${words}\nlast words`);
    assert.equal(step(running({ app }), over).lastExit?.message, `${words}\nlast words`);
    const uncapped = step(running(), over).lastExit?.message ?? "";
    assert.match(uncapped, /^the kernel killed it: out of memory \(no memPCT\)\n/);
  });

  test("was OOM killed also where it had daemonized and its script ended well", () => {
    for (const last of [{ code: 137, signal: 9 }, "unknown"] as const) {
      const view = { ...daemonEnded(last), kills: killCounts(1) };
      const record = step(daemonized("OnFailure"), { view });
      assert.deepEqual([record.phase, record.lastExit?.reason], ["BackOff", "OOMKilled"]);
    }
  });

  test("after it daemonized ended as its last process did, whether or not an agent saw it daemonize", () => {
    const app = appWith({ restartPolicy: "OnFailure" });
    const ended = (last: ScriptExit["last"]) =>
      [daemonized("OnFailure"), running({ app })].map((record) => {
        const { phase, lastExit } = step(record, { view: daemonEnded(last) });
        return [phase, lastExit?.reason, lastExit?.code, lastExit?.signal];
      });
    const twice = (...fields: unknown[]) => [fields, fields];
    assert.deepEqual(ended({ code: 137, signal: 9 }), twice("BackOff", "Error", 137, "SIGKILL"));
    assert.deepEqual(ended({ code: 3, signal: 0 }), twice("BackOff", "Error", 3, undefined));
    assert.deepEqual(ended({ code: 0, signal: 0 }), twice("Succeeded", "Completed", 0, undefined));
    assert.deepEqual(ended("unknown"), twice("BackOff", "Lost", undefined, undefined));
  });

  test("by its script's failure keeps that status, however what it left behind was ended", () => {
    const exit = { code: 5, at: start, signal: 0, last: { code: 143, signal: 15 } };
    const { lastExit } = step(running(), { view: { ...exited(5), exit } });
    assert.deepEqual([lastExit?.code, lastExit?.signal], [5, undefined]);
  });

  test("after it daemonized ended when its launcher wrote so, or else when its last process was seen gone", () => {
    const endAfter = (last: ScriptExit["last"]) => {
      const record = step(daemonized("Never"), { view: daemonEnded(last), now: start + 5000 });
      return Date.parse(record.lastExit?.finishedAt ?? "") - start;
    };
    assert.deepEqual([endAfter({ code: 1 }), endAfter("unknown")], [0, 5000]);
  });

  test("with the machine, after it daemonized, has not completed: it starts again without a wait", () => {
    const view = { ...daemonEnded("unknown"), rebooted: true };
    for (const policy of ["OnFailure", "Always"] as const) {
      const record = step(daemonized(policy), { view });
      assert.deepEqual([record.phase, record.lastExit?.reason, record.retryAt], [
        "BackOff",
        "NodeRebooted",
        undefined,
      ]);
    }
    assert.equal(step(daemonized("Never"), { view }).phase, "Failed");
    const stop = { reason: "Suspended" as const, message: "", since: start, deadline: start + 1 };
    const asked = daemonized("OnFailure", { stop });
    assert.equal(step(asked, { view }).lastExit?.reason, "Stopped");
  });

  test("before the machine went down keeps its own status", () => {
    const view = { ...exited(0), rebooted: true };
    const app = appWith({ restartPolicy: "OnFailure" });
    assert.equal(step(running({ app }), { view }).phase, "Succeeded");
  });

  test("by the SIGTERM of a shutdown, without an agent, starts again after the boot", () => {
    const app = appWith({ restartPolicy: "OnFailure" });
    for (const code of [0, 143]) {
      const view = { ...exited(code), exit: { code, at: start, terminated: true } };
      const record = step(running({ app }), { view: { ...view, rebooted: true } });
      assert.deepEqual([record.phase, record.lastExit?.reason, record.retryAt], [
        "BackOff",
        "NodeRebooted",
        undefined,
      ]);
      const sameBoot = step(running({ app }), { view });
      assert.equal(sameBoot.lastExit?.reason, code === 0 ? "Completed" : "Error");
    }
  });

  test("without its launcher has its output copied by another process, unless one does or it writes to the log itself", () => {
    const launcher = { pid: 90, startTime: "6", pipe: "pipe:[7]" };
    const killed = viewWith({ launcher, launcherAlive: false });
    const copies = (view: RunView, others?: RunView[]) => {
      const record = running({ others: others?.map((_, at) => runOf(appWith(), { id: `other-${at}` })) });
      return look(record, { view, others }).effects
        .flatMap((effect) => effect.kind === "copyLog" ? effect.run.id : []);
    };
    assert.deepEqual(copies(killed), ["run-1"]);
    assert.deepEqual(copies(viewWith({ launcher })), []);
    assert.deepEqual(copies({ ...killed, copier: { pid: 91, startTime: "6" } }), []);
    assert.deepEqual(copies({ ...killed, launcher: { pid: 90, startTime: "6" } }), []);
    assert.deepEqual(copies({ ...killed, rebooted: true }), []);
    assert.deepEqual(copies({ ...killed, processes: [] }), []);
    assert.deepEqual(copies(viewWith({ launcher }), [viewWith({ launcher }), killed]), ["other-1"]);
  });

  test("without an exit status is lost, not a success", () => {
    const view = viewWith({ processes: [], launcherAlive: false });
    const record = step(running({ app: appWith({ restartPolicy: "OnFailure" }) }), { view });
    assert.deepEqual([record.phase, record.lastExit?.reason], ["BackOff", "Lost"]);
  });

  test("with the machine starts again without a wait after the reboot", () => {
    const view = viewWith({ processes: [], launcherAlive: false, rebooted: true });
    const record = step(running(), { view });
    assert.deepEqual([record.phase, record.lastExit?.reason, record.retryAt], [
      "BackOff",
      "NodeRebooted",
      undefined,
    ]);
    assert.equal(step(record).phase, "Starting");
  });

  test("for good stays so, until what runs is changed", () => {
    const done = end({ restartPolicy: "Never" }, 0);
    assert.equal(step(done, { now: start + 1e9 }), done);
    const changed = step({ ...done, app: appWith({ restartPolicy: "Never", args: ["again"] }) });
    assert.equal(step(changed).phase, "Starting");
    const suspended = step({ ...done, app: appWith({ args: ["again"], suspend: true }) });
    assert.equal(step(suspended).reason, "Suspended");
  });

  test("for good starts again once its restart policy would have started it", () => {
    const after = (code: number, restartPolicy: "Always" | "OnFailure") =>
      step(step({ ...end({ restartPolicy: "Never" }, code), app: appWith({ restartPolicy }) })).phase;
    assert.deepEqual([after(0, "Always"), after(1, "Always")], ["Starting", "Starting"]);
    assert.deepEqual([after(0, "OnFailure"), after(1, "OnFailure")], ["Succeeded", "Starting"]);
  });

  test("long before an agent came to see it has no healthy time from that", () => {
    const app = appWith();
    const now = start + 600_000;
    const record = step(running({ app, failures: 5 }), { view: exited(1), now });
    assert.deepEqual([record.failures, record.retryAt], [6, now + 160_000]);
  });

  test("by an eviction waits for its longest backoff", () => {
    const app = appWith({ maxBackoffSeconds: 120 });
    const stopping = step(running({ app }), { view: viewWith(), eviction: "memory is short" });
    assert.deepEqual([stopping.phase, stopping.run?.stop?.reason], ["Stopping", "Evicted"]);
    const record = step(stopping, { view: exited(143) });
    assert.deepEqual([record.phase, record.lastExit?.reason, record.retryAt], [
      "BackOff",
      "Evicted",
      start + 120_000,
    ]);
    assert.equal(step(record, { now: start + 60_000 }), record);
  });

  test("is not kept waiting by a clock that was set back", () => {
    const record = end({}, 1);
    assert.equal(step(record, { now: start - 3_600_000 }).phase, "Starting");
  });

  test("in its backoff is not started from an edit that leaves nothing to run", () => {
    const edited = { ...end({}, 1), app: appWith({ shellFile: "" }) };
    const { record, effects } = look(edited);
    assert.deepEqual([record.phase, record.reason, effects], ["Pending", "NoShellFile", []]);
  });

  test("in its backoff is forgotten when it is withdrawn", () => {
    assert.deepEqual(kinds(look({ ...end({}, 1), withdrawn: true })), ["forget"]);
  });
});

describe("one look at an app", () => {
  const starting = () => recordWith({ phase: "Starting", reason: "Starting", run: runOf(appWith()) });

  test("leads from a start to a settled app that runs", () => {
    const decision = decideAll(starting(), situation({ view: viewWith() }));
    assert.equal(decision.record.phase, "Running");
    assert.deepEqual(kinds(decision), ["ensureCaps"]);
    assert.deepEqual(decision.events.map(({ reason }) => reason), ["Started"]);
    assert.equal(decision.isSettled, true);
  });

  test("is not enough for a script that has ended by now: its last lines are not read yet", () => {
    const decision = decideAll(starting(), situation({ view: exited(3) }));
    assert.deepEqual([decision.record.phase, decision.isSettled], ["Running", false]);
  });
});
