/** The sets controller and an API server that has newer objects than the controller has seen, or that fails. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ncapps, ncappsets, resourcePath } from "../../src/kube/resources.ts";
import type { EventNews } from "../../src/report/events/events.ts";
import { reconcile } from "../../src/sets/reconcile.ts";
import { createStore } from "../../src/sets/store.ts";
import type { Node } from "../../src/sets/types.ts";
import { createSetWriter } from "../../src/sets/write.ts";
import { setSpecWith, setWith } from "../api/set-samples.ts";
import { type Asked, FakeApi } from "../kube/fake-api.ts";

const namespace = "default";
const setPath = resourcePath(ncappsets, { namespace, name: "web" });
const appPath = (node: string) => resourcePath(ncapps, { namespace, name: `web-${node}` });

/** A set on these nodes. What someone else writes reaches the controller when the test calls `see`. */
function scene(nodeNames: string[] = ["n0"], spec: object = {}) {
  const api = new FakeApi();
  api.add(ncappsets, setWith(setSpecWith({ minReadySeconds: 0, ...spec }), { namespace, name: "web" }));
  const store = createStore(() => {});
  const events: EventNews[] = [];
  const clock = { now: Date.parse("2026-01-01T00:00:00Z") };
  const nodes = new Map<string, Node>();
  const properties = { labels: {}, taints: [], ready: true, cordoned: false, pressures: [] };
  const join = (name: string) => void nodes.set(name, { name, properties, agent: "fresh" });
  nodeNames.forEach(join);
  const parts = {
    store,
    nodes,
    writer: createSetWriter(api.client, store, new AbortController().signal),
    recorder: { record: (_: unknown, event: EventNews) => void events.push(event) } as never,
    statusAt: new Map(),
    turns: new Map(),
    mayWrite: () => true,
    now: () => clock.now,
  };
  const see = (kind: "sets" | "apps") => {
    const { plural } = { sets: ncappsets, apps: ncapps }[kind];
    const paths = [...api.objects.keys()].filter((path) => path.includes(`/${plural}/`));
    store[kind].replace(paths.map((path) => structuredClone(api.get(path))), "999999");
  };
  const run = () => reconcile(store.sets.get(`${namespace}/web`)!, parts);
  /** Until there is nothing to write. */
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) if (!(await run()).again) return;
    throw new Error("not settled");
  };
  const takeReasons = () => events.splice(0).map(({ reason }) => reason);
  see("sets");
  return { api, clock, join, see, run, settle, takeReasons, parts };
}
const isAppWrite = ({ method, path }: Asked) => method !== "GET" && /\/ncapps(\/|$)/.test(path);

test("a set that is being deleted adopts nothing, although the controller has not seen that yet", async () => {
  const { api, settle, see, run } = scene();
  await settle();
  // kubectl delete --cascade=orphan: the collector removes the owners, and the watch of apps is ahead of the watch of sets.
  api.touch(setPath, ({ metadata }) => metadata.deletionTimestamp = "2026-01-01T00:00:00Z");
  api.touch(appPath("n0"), ({ metadata }) => delete metadata.ownerReferences);
  see("apps");
  await run();
  assert.equal(api.get(appPath("n0")).metadata.ownerReferences, undefined);
});

test("an orphan is adopted by the set that is there, and updated although it has no annotations", async () => {
  const { api, settle, see } = scene();
  await settle();
  api.touch(appPath("n0"), ({ metadata }) => delete metadata.ownerReferences && delete metadata.annotations);
  see("apps");
  await settle();
  assert.ok(api.get(appPath("n0")).metadata.annotations);
  assert.equal(api.get(appPath("n0")).metadata.ownerReferences[0].uid, api.get(setPath).metadata.uid);
});

test("numbers in the status are written once a second, and what a plan depends on at once", async () => {
  const { api, clock, run, see, settle } = scene(["n0", "n1", "n2"], { update: { maxUnavailable: 2 } });
  const report = (node: string) => {
    api.touch(appPath(node), (app) => app.status = { observedGeneration: 1, phase: "Running", ready: true });
    see("apps");
  };
  await settle();
  clock.now += 5000;
  const ready = () => api.get(setPath).status.ready;
  report("n0");
  await run();
  assert.equal(ready(), 1);
  clock.now += 10;
  report("n1");
  const { checkAt } = await run();
  assert.deepEqual([ready(), checkAt], [1, clock.now + 990]);
  clock.now += 990;
  await run();
  assert.equal(ready(), 2);
  // The third makes the revision the stable one.
  report("n2");
  await run();
  assert.deepEqual([ready(), api.get(setPath).status.stableRevision !== ""], [3, true]);
});

test("a report that the controller has not seen rejects no update; another change does", async () => {
  const { api, run, see, settle } = scene(["n0", "n1"], { update: { maxUnavailable: 2 } });
  await settle();
  api.touch(setPath, ({ spec }) => spec.template.spec.cpuPCT = "5");
  see("sets");
  await run();
  api.touch(appPath("n0"), (app) => app.status = { cpuPCT: "1.0" });
  api.touch(appPath("n1"), ({ metadata }) => metadata.annotations.note = "x");
  api.asked.length = 0;
  await run();
  assert.deepEqual(api.asked.filter(isAppWrite).map(({ path }) => path), [appPath("n0"), appPath("n1")]);
  assert.deepEqual(["n0", "n1"].map((node) => api.get(appPath(node)).spec.cpuPCT), ["5", undefined]);
  assert.deepEqual(api.get(appPath("n0")).status, { cpuPCT: "1.0" });
  await settle();
  const { metadata, spec } = api.get(appPath("n1"));
  assert.deepEqual([spec.cpuPCT, metadata.annotations.note], ["5", "x"]);
});

test("an event is recorded once, although the status behind it had to be written again", async () => {
  const { api, run, settle, takeReasons } = scene();
  await run();
  api.touch(setPath, ({ metadata }) => metadata.labels = { changed: "by someone" });
  await settle();
  assert.equal(takeReasons().filter((reason) => reason === "RolloutStarted").length, 1);
});

test("a conflict that a newer object does not explain is an error, not a reason to try again at once", async () => {
  const { api, settle, see, run } = scene();
  await settle();
  api.touch(setPath, ({ spec }) => spec.template.spec.cpuPCT = "5");
  see("sets");
  await run();
  api.intercept = (asked) => isAppWrite(asked) ? 409 : undefined;
  await assert.rejects(run(), { status: 409 });
});

test("an app that the server rejects does not hold up the others", async () => {
  const { api, run, see, settle, takeReasons } = scene(["n0", "n1", "n2"], { update: { maxUnavailable: 3 } });
  await settle();
  api.touch(setPath, ({ spec }) => spec.template.spec.cpuPCT = "5");
  see("sets");
  await run();
  takeReasons();
  api.intercept = (asked) => isAppWrite(asked) && asked.path.endsWith("web-n0") ? 422 : undefined;
  // Something was done, so what failed is tried again soon; when nothing else is left, after a backoff.
  assert.equal((await run()).again, true);
  assert.deepEqual(["n1", "n2"].map((node) => api.get(appPath(node)).spec.cpuPCT), ["5", "5"]);
  assert.deepEqual(takeReasons(), ["RolloutStarted", "Updated", "FailedChange"]);
  await assert.rejects(run(), { status: 422 });
});

test("what the server rejects is not sent for every app, and does not keep other changes back", async () => {
  const nodes = Array.from({ length: 40 }, (_, at) => `n${at}`);
  const { api, run, see, settle, join } = scene(nodes.slice(0, 1));
  await settle();
  for (const node of nodes) join(node);
  api.touch(setPath, ({ spec }) => spec.template.spec.cpuPCT = "5");
  see("sets");
  await run();
  api.asked.length = 0;
  api.intercept = ({ method, path }) => method === "POST" && path.endsWith("/ncapps") ? 403 : undefined;
  await run();
  assert.ok(api.asked.filter(({ method }) => method === "POST").length < 20);
  assert.equal(api.get(appPath("n0")).spec.cpuPCT, "5");
});

test("the writes of a plan end when the server does not answer", async () => {
  const nodes = Array.from({ length: 20 }, (_, at) => `n${at}`);
  const { api, run } = scene(nodes);
  await run();
  api.intercept = (asked) => isAppWrite(asked) ? 0 : undefined;
  await assert.rejects(run(), { status: undefined });
  assert.ok(api.asked.filter(isAppWrite).length <= 8);
});

test("a job is deleted after its time, and not if it was changed in the meantime", async () => {
  const { api, clock, run, see, settle, takeReasons } = scene(["n0"], {
    job: { parallelism: 1, ttlSecondsAfterFinished: 60 },
    template: { metadata: { labels: { app: "web" } }, spec: { shellFile: "/a.sh", restartPolicy: "Never" } },
  });
  await settle();
  const report = () => {
    api.touch(appPath("n0"), (app) => {
      const { generation: observedGeneration } = app.metadata;
      app.status = { observedGeneration, phase: "Succeeded", restarts: 0, nodeName: "n0" };
    });
    see("apps");
  };
  report();
  await settle();
  assert.equal(api.get(appPath("n0")).spec.suspend, true);
  assert.deepEqual(takeReasons().filter((reason) => reason === "CompletionsReached"), ["CompletionsReached"]);
  report();
  const { checkAt } = await run();
  assert.equal(checkAt, clock.now + 60_000);
  clock.now += 60_000;
  api.touch(setPath, ({ metadata }) => metadata.annotations = { "app.example.com/retry": "1" });
  await run();
  assert.ok(api.get(setPath));
  see("sets");
  // There is nothing left to retry: it is complete again, and its time starts again.
  await settle();
  clock.now += 60_000;
  await run();
  assert.equal(api.objects.has(setPath), false);
});

/** The sets web and api, with one ready app each and a new template, under a budget of one disruption. */
async function budgetScene() {
  const { api, parts, settle, see } = scene([], { replicas: 1 });
  const names = ["web", "api"];
  api.add(
    ncappsets,
    setWith(setSpecWith({ minReadySeconds: 0, replicas: 1 }), { namespace, name: "api" }),
  );
  see("sets");
  const run = (name: string) => reconcile(parts.store.sets.get(`${namespace}/${name}`)!, parts);
  await settle();
  while ((await run("api")).again);
  const pathOf = (name: string) => resourcePath(ncapps, { namespace, name: `${name}-0` });
  for (const name of names) {
    api.touch(pathOf(name), (app) => {
      app.spec.nodeName = "n0";
      app.metadata.generation = 2;
      app.status = { observedGeneration: 2, phase: "Running", ready: true, nodeName: "n0" };
    });
    api.touch(resourcePath(ncappsets, { namespace, name }), ({ spec }) => {
      spec.template.spec.shellFile = "/b.sh";
    });
  }
  see("apps");
  see("sets");
  parts.store.budgets.set(`${namespace}/all`, {
    ...{ namespace, name: "all", selector: {}, allowed: 1, healthy: 2, expected: 2 },
  });
  const changed = () => names.filter((name) => api.get(pathOf(name)).spec.shellFile === "/b.sh");
  return { api, run, names, pathOf, changed };
}

test("two sets under one budget do not spend it twice", async () => {
  const { run, names, changed } = await budgetScene();
  for (let round = 0; round < 4; round++) await Promise.all(names.map(run));
  assert.equal(changed().length, 1);
});

test("a set waits for what became of another set's write under the same budget", async () => {
  const { api, run, pathOf, changed } = await budgetScene();
  await run("web");
  await run("api");
  api.intercept = ({ method, path }) => {
    if (method === "GET" || path !== pathOf("web")) return undefined;
    // The server makes the change, and the connection breaks.
    if (changed().length === 0) {
      api.touch(path, (app) => (app.spec.shellFile = "/b.sh", app.metadata.generation++));
    }
    return 0;
  };
  await assert.rejects(run("web"), { status: undefined });
  for (let round = 0; round < 3; round++) await run("api");
  assert.deepEqual(changed(), ["web"]);
});
