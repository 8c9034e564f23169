/** Who holds an app, and when the finalizer goes: single cases, then many random worlds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nodeFinalizer } from "../../../src/api/names.ts";
import type { NCApp, NCAppStatus } from "../../../src/api/types.ts";
import { releasePatch, statusDelta } from "../../../src/report/status/status.ts";
import { nextHoldStep, type NodePresence, readApp } from "../../../src/scheduler/state/state.ts";
import { holderOf } from "../../../src/supervisor/status.ts";
import type { AppRecord } from "../../../src/supervisor/types.ts";
import { mostly, runs } from "../../properties.ts";
import { ncapp } from "../sample-cluster.ts";
import { createTestCluster } from "../test-cluster.ts";

const deletionTimestamp = "2026-01-01T00:00:00Z";
const deletedAt = Date.parse(deletionTimestamp);
const finalizers = [nodeFinalizer];
const old = { restarts: 0, observedGeneration: 1 };

function stepFor(
  { nodeName, status, metadata, presence = "present", now = deletedAt }: {
    nodeName?: string;
    status?: NCAppStatus;
    metadata?: Partial<NCApp["metadata"]>;
    presence?: NodePresence;
    now?: number;
  },
) {
  const app = readApp(ncapp("web", { nodeName }, status, { generation: 2, ...metadata }));
  const step = nextHoldStep(app, () => presence, now);
  return step && (step.kind === "release" ? `release ${step.node}` : step.finalizers.join());
}

test("a bound app gets the finalizer beside those that it has; mirrors, foreign and unbound apps do not", () => {
  assert.equal(stepFor({ nodeName: "a" }), nodeFinalizer);
  assert.equal(stepFor({ nodeName: "a", metadata: { finalizers: ["x/y"] } }), `x/y,${nodeFinalizer}`);
  assert.equal(stepFor({ nodeName: "a", metadata: { finalizers } }), undefined);
  assert.equal(stepFor({}), undefined);
  const mirror = { "app.example.com/config.mirror": "a/1" };
  assert.equal(stepFor({ nodeName: "a", metadata: { annotations: mirror } }), undefined);
  const foreign = readApp(ncapp("web", { nodeName: "a", schedulerName: "other" }));
  assert.equal(nextHoldStep(foreign, () => "present", 0), undefined);
});

test("the finalizer of a deleted app is removed when its agent has stopped it, and not before", () => {
  const deleted = { finalizers: ["x/y", nodeFinalizer], deletionTimestamp };
  const step = (status: NCAppStatus, nodeName: string | undefined = "a") =>
    stepFor({ nodeName, status, metadata: deleted });
  assert.equal(step({ ...old, nodeName: "a" }), undefined);
  assert.equal(step({ ...old, nodeName: "", observedGeneration: 2 }), "x/y");
  assert.equal(
    step({ ...old, nodeName: "" }),
    undefined,
    "that was the node before: this one has not seen the deletion",
  );
  assert.equal(step({ ...old, nodeName: "b" }, "a"), undefined, "it still stops on b");
  assert.equal(
    stepFor({ status: { nodeName: "b" }, metadata: deleted }),
    undefined,
    "unbound, but not stopped",
  );
  assert.equal(stepFor({ status: { nodeName: "" }, metadata: deleted }), "x/y");
  assert.equal(stepFor({ metadata: deleted }), "x/y", "it never had a node");
});

test("a deleted app that no agent ever reported goes some time after its grace period", () => {
  const app = { nodeName: "a", metadata: { finalizers, deletionTimestamp } };
  assert.equal(stepFor(app), undefined);
  assert.equal(stepFor({ ...app, now: deletedAt + 41_000 }), "");
});

test("a lost or removed agent keeps neither a deleted nor a moved app", () => {
  const status = { ...old, nodeName: "a" };
  const deleted = { nodeName: "a", status, metadata: { finalizers, deletionTimestamp } };
  const presences: NodePresence[] = ["present", "silent", "lost", "gone"];
  assert.deepEqual(presences.map((presence) => stepFor({ ...deleted, presence })), [
    undefined,
    undefined,
    "",
    "",
  ]);
  const foreign = { ...deleted, metadata: { finalizers: ["x/y"], deletionTimestamp } };
  assert.deepEqual(presences.map((presence) => stepFor({ ...foreign, presence })), [
    undefined,
    undefined,
    "release a",
    "release a",
  ], "a foreign finalizer does not keep its share");
  const moved = { nodeName: "b", status, metadata: { finalizers } };
  assert.deepEqual(presences.map((presence) => stepFor({ ...moved, presence })), [
    undefined,
    "release a",
    "release a",
    "release a",
  ]);
  const bound = { nodeName: "a", status, metadata: { finalizers } };
  assert.deepEqual(presences.map((presence) => stepFor({ ...bound, presence })), [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("in random worlds, share and ports are used wherever the app is bound or may still run", () => {
  const nodes = ["a", "b", "c"];
  // A move, a report of an agent, a release, a deletion, or its end.
  const step = fc.record({
    name: fc.constantFrom("p", "q", "r", "s", "t"),
    move: fc.oneof(fc.constant("stay"), fc.constantFrom(...nodes, undefined)),
    report: fc.constantFrom("as before", "holds", "released"),
    isDeleted: mostly(false, 10, fc.constant(true)),
    isGone: mostly(false, 8, fc.constant(true)),
  });
  const property = fc.property(fc.array(step, { maxLength: 100, size: "max" }), (steps) => {
    const { cluster } = createTestCluster(nodes);
    const known = new Map<string, NCApp>();
    for (const [number, { name, move, report, ...step }] of steps.entries()) {
      const before = known.get(name);
      if (before && step.isGone) {
        known.delete(name);
        cluster.apps.remove(`default/${name}`, before.metadata.uid!);
      } else {
        const nodeName = move === "stay" ? before?.spec.nodeName : move;
        const holders = { "as before": before?.status?.nodeName, holds: nodeName ?? "", released: "" };
        const holder = before ? holders[report] : nodeName ?? "";
        const isDeleted = before?.metadata.deletionTimestamp !== undefined || step.isDeleted;
        const generation = (before?.metadata.generation ?? 0) + 1;
        const status = { nodeName: holder, observedGeneration: generation, restarts: 0 };
        const app = ncapp(name, { cpuPCT: 7, nodeName, ports: [{ port: name.charCodeAt(0) }] }, status, {
          uid: before?.metadata.uid ?? `${name}-${number}`,
          generation,
          ...(isDeleted ? { deletionTimestamp } : {}),
        });
        known.set(name, app);
        cluster.apps.apply(app);
      }
      for (const name of nodes) {
        const node = cluster.snapshot.node(name)!;
        const used = new Set([...node.apps.keys(), ...node.leaving.keys()]);
        for (const [app, { spec, status, metadata }] of known) {
          const isStopped = metadata.deletionTimestamp !== undefined && status?.nodeName === "";
          const isHeld = status?.nodeName === name || spec.nodeName === name && !isStopped;
          const where = `step ${number}: ${app} on ${name}`;
          assert.ok(!isHeld || used.has(`default/${app}`), `${where} uses nothing`);
          const isLeaving = node.leaving.has(`default/${app}`);
          assert.ok(isHeld || isLeaving || !used.has(`default/${app}`), `${where} uses a share`);
        }
        assert.equal(node.usedCpu, used.size * 7000);
        assert.equal(node.ports.size, used.size);
      }
    }
  });
  fc.assert(property, runs(30));
});

test("in random worlds of users, agents and a scheduler, no app runs twice or outlives its object, and deletions end", () => {
  const step = fc.oneof(
    { weight: 30, arbitrary: fc.constantFrom<Step[]>("scheduler", "agent a", "agent b") },
    { weight: 9, arbitrary: fc.constantFrom<Step[]>("unbind", "bind to a", "bind to b") },
    { weight: 1, arbitrary: fc.constant<Step>("delete") },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
      const world = createWorld();
      for (const step of steps) world.perform(step);
      world.settle();
    }),
    runs(400),
  );
});

type Step = "scheduler" | "agent a" | "agent b" | "unbind" | "bind to a" | "bind to b" | "delete";

/** One app, two agents that run it by the real decisions, and a scheduler; each step one of them acts on the object as it is. */
function createWorld() {
  const running = new Set<string>();
  let app: NCApp | undefined = ncapp("web", {}, undefined, { generation: 1 });
  const change = (next: Partial<NCApp>) => {
    const { generation = 0, deletionTimestamp: wasDeleted } = app!.metadata;
    const metadata = { ...app!.metadata, ...next.metadata };
    const isNewer = next.spec !== undefined || metadata.deletionTimestamp !== wasDeleted;
    app = { ...app!, ...next, metadata: { ...metadata, generation: generation + (isNewer ? 1 : 0) } };
    if (metadata.deletionTimestamp && !metadata.finalizers?.length) app = undefined;
  };
  const remove = () => app && change({ metadata: { ...app.metadata, deletionTimestamp } });
  const bind = (nodeName: string | undefined) => app && change({ spec: { ...app.spec, nodeName } });
  const agent = (node: string) => {
    const isBound = app?.spec.nodeName === node;
    const holder = app?.status?.nodeName;
    if (!app || !isBound || app.metadata.deletionTimestamp) {
      if (running.delete(node)) return;
      const patch = app && !isBound && releasePatch(app, node, { stopped: true, now: 0 });
      if (patch) return change({ status: { ...app!.status, ...patch } });
    }
    if (!app || !isBound) return;
    const heldBy = holder && holder !== node ? holder : undefined;
    if (!heldBy && !app.metadata.deletionTimestamp) running.add(node);
    const run = running.has(node) ? {} : undefined;
    const nodeName = holderOf({ app, run, heldBy } as AppRecord, node);
    const wanted = {
      restarts: 0,
      observedGeneration: app.metadata.generation,
      ...(nodeName === undefined ? {} : { nodeName }),
    };
    change({ status: { ...app.status, ...statusDelta(app.status, wanted) } });
  };
  const scheduler = () => {
    if (!app) return;
    const step = nextHoldStep(readApp(app), () => "present", 0);
    if (step?.kind === "finalizers") change({ metadata: { ...app.metadata, finalizers: step.finalizers } });
  };
  const check = () => {
    assert.ok(running.size <= 1, `it runs on ${[...running]}`);
    if (!app) assert.equal(running.size, 0, `it is gone and runs on ${[...running]}`);
  };
  // A bind by the scheduler has the finalizer: users do not delete an app between their own bind and its next step.
  const steps: Record<Step, () => void> = {
    "bind to a": () => (bind("a"), scheduler()),
    "bind to b": () => (bind("b"), scheduler()),
    unbind: () => (bind(undefined), scheduler()),
    delete: () => (remove(), scheduler()),
    scheduler,
    "agent a": () => agent("a"),
    "agent b": () => agent("b"),
  };
  const perform = (step: Step) => (steps[step](), check());
  const settle = () => {
    if (app && !app.metadata.deletionTimestamp) remove();
    for (let round = 0; round < 4; round++) {
      for (const act of [() => agent("a"), () => agent("b"), scheduler]) (act(), check());
    }
    assert.equal(app, undefined, `its deletion does not end: ${JSON.stringify(app)}`);
  };
  return { perform, settle };
}
