import assert from "node:assert/strict";
import { test } from "node:test";
import type { DefaultedProbe } from "../../../src/api/types.ts";
import { createProber, type ProbedRun } from "../../../src/supervisor/probes/prober.ts";
import { waitFor } from "../../wait-for.ts";

function probe(fields: Partial<DefaultedProbe> = {}): DefaultedProbe {
  const times = {
    initialDelaySeconds: 0,
    periodSeconds: 0.01,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 3,
  };
  return { tcpSocket: { port: 1 }, ...times, ...fields };
}

/** A prober whose results come from `answers`, by probe; errors are thrown. */
function probing() {
  const answers = new Map<DefaultedProbe, boolean | Error>();
  const unhealthy: string[] = [];
  const unready: string[] = [];
  const errors: (string | undefined)[] = [];
  const asked: DefaultedProbe[] = [];
  const failed: string[] = [];
  const ready: boolean[] = [];
  let started = 0;
  const prober = createProber({
    perform: async (probe) => {
      asked.push(probe);
      const ok = answers.get(probe) ?? true;
      if (ok instanceof Error) throw ok;
      return { ok, message: "it said so" };
    },
    onFailed: (_run, message) => failed.push(message),
    onReady: (_run, isReady) => ready.push(isReady),
    onStarted: () => started++,
    onUnhealthy: (_run, message) => unhealthy.push(message),
    onUnready: (_run, message) => unready.push(message),
    onError: (_run, message) => errors.push(message),
    random: () => 0,
  });
  const watch = (spec: ProbedRun["spec"], fields: Partial<ProbedRun> = {}) =>
    prober.watch({ key: "default/web", runId: "run-1", startedAt: Date.now(), spec, ...fields });
  return {
    started: () => started,
    prober,
    answers,
    asked,
    failed,
    ready,
    unhealthy,
    unready,
    errors,
    watch,
    [Symbol.dispose]: () => prober.close(),
  };
}

test("a failed liveness verdict is reported once, with the message of the probe", async () => {
  using seen = probing();
  const liveness = probe();
  seen.answers.set(liveness, false);
  seen.watch({ livenessProbe: liveness });
  await waitFor("more probes than the threshold", () => seen.asked.length > 5);
  assert.deepEqual(seen.failed, ["Liveness probe failed: it said so"]);
});

test("readiness is reported with every change of verdict", async () => {
  using seen = probing();
  const readiness = probe({ failureThreshold: 1 });
  seen.watch({ readinessProbe: readiness });
  await waitFor("ready", () => seen.ready.at(-1) === true);
  seen.answers.set(readiness, false);
  await waitFor("not ready", () => seen.ready.at(-1) === false);
  seen.answers.set(readiness, true);
  await waitFor("ready again", () => seen.ready.at(-1) === true);
  assert.deepEqual(seen.ready, [true, false, true]);
});

test("the other probes wait until the startup probe has passed, which is then not repeated", async () => {
  using seen = probing();
  const [startup, liveness] = [probe({ failureThreshold: 1000 }), probe()];
  seen.answers.set(startup, false);
  seen.watch({ startupProbe: startup, livenessProbe: liveness });
  await waitFor("some startup probes", () => seen.asked.length > 3);
  assert.ok(!seen.asked.includes(liveness));
  seen.answers.set(startup, true);
  await waitFor("liveness is probed", () => seen.asked.includes(liveness));
  const count = seen.asked.filter((probe) => probe === startup).length;
  await waitFor("more probes", () => seen.asked.filter((probe) => probe === liveness).length > 5);
  assert.equal(seen.asked.filter((probe) => probe === startup).length, count);
  assert.deepEqual(seen.ready, [true]);
});

test("a failed startup probe fails the run", async () => {
  using seen = probing();
  const startup = probe({ failureThreshold: 2 });
  seen.answers.set(startup, false);
  seen.watch({ startupProbe: startup });
  await waitFor("the report", () => seen.failed.length > 0);
  assert.deepEqual([seen.failed, seen.ready], [["Startup probe failed: it said so"], []]);
});

test("a run is not probed twice, new probes replace the old, and a stopped app is not probed", async () => {
  using seen = probing();
  const [first, second] = [probe(), probe({ failureThreshold: 9 })];
  seen.watch({ livenessProbe: first });
  seen.watch({ livenessProbe: first });
  await waitFor("it is probed", () => seen.asked.length > 0);
  seen.watch({ livenessProbe: second });
  await waitFor("the new one is probed", () => seen.asked.includes(second));
  const old = seen.asked.filter((probe) => probe === first).length;
  await waitFor("several of the new", () => seen.asked.filter((probe) => probe === second).length > 3);
  assert.equal(seen.asked.filter((probe) => probe === first).length, old);
  seen.prober.stop("default/web");
  const all = seen.asked.length;
  await waitFor(
    "some time has gone by",
    () => new Promise<true>((resolve) => setTimeout(() => resolve(true), 50)),
  );
  assert.equal(seen.asked.length, all);
});

test("the initial delay counts from the start of the run, so a new agent does not wait again", async () => {
  using seen = probing();
  seen.watch({ livenessProbe: probe({ initialDelaySeconds: 3600 }) }, { startedAt: Date.now() - 3_600_000 });
  await waitFor("it is probed at once", () => seen.asked.length > 0);
});

test("a passed startup probe is reported, and a new agent does not repeat it", async () => {
  using seen = probing();
  const [startup, liveness] = [probe(), probe()];
  seen.watch({ startupProbe: startup, livenessProbe: liveness });
  await waitFor("liveness is probed", () => seen.asked.includes(liveness));
  assert.equal(seen.started(), 1);
  using later = probing();
  later.watch({ startupProbe: startup, livenessProbe: liveness }, { startupPassed: true });
  await waitFor("liveness is probed at once", () => later.asked.includes(liveness));
  assert.ok(!later.asked.includes(startup));
});

test("a probe that could not be performed is no failure of the app: it is reported once and repeated", async () => {
  using seen = probing();
  const liveness = probe({ failureThreshold: 2 });
  const short = new Error("spawn /bin/sh EAGAIN");
  seen.answers.set(liveness, short);
  seen.watch({ livenessProbe: liveness });
  const count = async (more: number) => {
    const before = seen.asked.length;
    await waitFor("more probes", () => seen.asked.length > before + more);
  };
  await count(5);
  const error = "Liveness probe errored: spawn /bin/sh EAGAIN";
  assert.deepEqual([seen.failed, seen.unhealthy, seen.errors], [[], [], [error]]);
  seen.answers.set(liveness, true);
  await count(2);
  seen.answers.set(liveness, short);
  await count(5);
  assert.deepEqual(seen.errors, [error, undefined, error], "it is reported again after a probe that worked");
  seen.answers.set(liveness, false);
  await waitFor("a failure still counts", () => seen.failed.length > 0);
});

test("an error that an earlier agent reported is not reported again, but its end is", async () => {
  using seen = probing();
  const liveness = probe();
  seen.answers.set(liveness, new Error("it cannot run"));
  seen.watch({ livenessProbe: liveness }, {
    probeErrors: { liveness: "Liveness probe errored: it cannot run" },
  });
  await waitFor("several probes", () => seen.asked.length > 2);
  assert.deepEqual(seen.errors, []);
  seen.answers.set(liveness, true);
  await waitFor("the end of the error", () => seen.errors.length > 0);
  assert.deepEqual(seen.errors, [undefined]);
});

test("a probe that could not be performed changes neither the count of results nor the verdict", async () => {
  const script: (boolean | Error)[] = [true, false, new Error("EMFILE"), new Error("EMFILE"), false];
  let asked = 0;
  const ready: boolean[] = [];
  const prober = createProber({
    perform: async () => {
      const ok = script[asked++] ?? true;
      if (ok instanceof Error) throw ok;
      return { ok, message: "" };
    },
    onFailed: () => {},
    onReady: (_run, isReady) => ready.push(isReady),
    onStarted: () => {},
    onUnhealthy: () => {},
    onUnready: () => {},
    onError: () => {},
    random: () => 0,
  });
  const spec = { readinessProbe: probe({ failureThreshold: 2 }) };
  prober.watch({ key: "default/web", runId: "run-1", startedAt: Date.now(), spec });
  await waitFor("all were asked", () => asked > script.length + 1);
  prober.close();
  assert.deepEqual(ready, [true, false, true]);
});

test("a closed prober starts no probes: the last step of a runner may still ask for them", () => {
  using seen = probing();
  seen.prober.close();
  seen.watch({ livenessProbe: probe() });
  assert.deepEqual(seen.ready, []);
});

test("what keeps an app from being ready is reported once, and again after it was ready; liveness keeps none", async () => {
  using seen = probing();
  const [readiness, liveness] = [probe({ failureThreshold: 2 }), probe({ failureThreshold: 1000 })];
  seen.answers.set(readiness, false);
  seen.answers.set(liveness, false);
  seen.watch({ readinessProbe: readiness, livenessProbe: liveness });
  await waitFor("several failures", () => seen.asked.length > 8);
  assert.deepEqual(seen.unready, ["Readiness probe failed: it said so"]);
  seen.answers.set(readiness, true);
  await waitFor("ready", () => seen.ready.at(-1) === true);
  seen.answers.set(readiness, false);
  await waitFor("not ready again", () => seen.ready.at(-1) === false);
  assert.deepEqual(seen.unready, [
    "Readiness probe failed: it said so",
    "Readiness probe failed: it said so",
  ]);
});
