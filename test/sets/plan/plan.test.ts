import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, setLabels } from "../../../src/api/names.ts";
import type { NCAppSetSpec, NCAppStatus } from "../../../src/api/types.ts";
import { healthOf } from "../../../src/sets/plan/health.ts";
import { appName, hashOf, ordinalOf } from "../../../src/sets/plan/names.ts";
import { plan } from "../../../src/sets/plan/plan.ts";
import type { App } from "../../../src/sets/types.ts";
import { kstatus } from "../../kstatus.ts";
import { SimulatedCluster } from "./simulated-cluster.ts";

type Update = NonNullable<NCAppSetSpec["update"]>;

/** A set on five nodes, all of whose apps are available. */
function running(spec: Partial<NCAppSetSpec> = {}, nodes = 5): SimulatedCluster {
  const cluster = new SimulatedCluster({ nodes, spec });
  cluster.settle();
  cluster.log = [];
  return cluster;
}
const rolling = (update: Update, nodes = 5) => running({ update }, nodes);
const scripts = (cluster: SimulatedCluster) =>
  Object.fromEntries(
    cluster.own.map(({ metadata, spec }) => [metadata.name, spec.shellFile]).sort(),
  );
const countOf = (cluster: SimulatedCluster, script: string) =>
  cluster.own.filter(({ spec }) => spec.shellFile === script).length;
const conditionOf = ({ set }: SimulatedCluster, type: string) =>
  set.status?.conditions?.find((condition) => condition.type === type);
/** The apps that the next plan updates. */
const next = (cluster: SimulatedCluster) =>
  cluster.plan().actions.flatMap((action) => action.kind === "update" ? action.app.metadata.name : []);
const agentsAct = (cluster: SimulatedCluster, times = 2) => {
  for (let time = 0; time < times; time++) {
    for (const name of [...cluster.apps.keys()]) cluster.agentStep(name), cluster.see(name);
  }
};
const step = (cluster: SimulatedCluster) => {
  const planned = cluster.reconcile();
  for (const name of [...cluster.view.keys()]) cluster.see(name);
  return planned;
};

/** Lets an agent report this, and the controller see it. */
const report = (cluster: SimulatedCluster, name: string, status: NCAppStatus) => {
  const app = cluster.apps.get(name)!;
  cluster.apps.set(name, { ...app, status: { ...app.status, ...status } });
  cluster.see(name);
};
/** Changes the script of the template, and lets all that follows happen. */
const rollOut = (cluster: SimulatedCluster, shellFile: string) => {
  cluster.editApp({ shellFile });
  cluster.settle();
};

/** Changes the script of the template; the controller writes the revision, then the first apps. */
const startRollout = (cluster: SimulatedCluster, shellFile: string) => {
  cluster.editApp({ shellFile });
  step(cluster);
  step(cluster);
};

test("a set without replicas has one app on every node, bound to it and only to it", () => {
  const cluster = running();
  assert.deepEqual(cluster.own.map(({ metadata }) => metadata.name).sort(), [
    ...["web-n0", "web-n1", "web-n2", "web-n3", "web-n4"],
  ]);
  const { spec, metadata } = cluster.apps.get("web-n1")!;
  assert.equal(spec.nodeName, "n1");
  assert.deepEqual(
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms,
    [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] }],
  );
  assert.deepEqual(spec.tolerations, [{ key: "app.example.com/unreachable", operator: "Exists" }]);
  assert.equal(metadata.labels?.app, "web");
  const { desired, current, updated, available, unavailable, failed } = cluster.set.status!;
  assert.deepEqual({ desired, current, updated, available, unavailable, failed }, {
    ...{ desired: 5, current: 5, updated: 5, available: 5, unavailable: 0, failed: 0 },
  });
  assert.equal(conditionOf(cluster, "Progressing")?.reason, "RolloutComplete");
  assert.equal(cluster.set.status?.stableRevision, cluster.set.status?.updateRevision);
  assert.equal(cluster.set.status?.selector, "app=web");
});

test("a node that joins gets an app; one that is cordoned, tainted, not ready or without an agent does not", () => {
  const cluster = running();
  cluster.join("new");
  const taint = { key: "gpu", effect: "NoSchedule" };
  cluster.join("cordoned"), cluster.changeNode("cordoned", { cordoned: true });
  cluster.join("tainted"), cluster.changeNode("tainted", { taints: [taint] });
  cluster.join("unready"), cluster.changeNode("unready", { ready: false });
  cluster.join("foreign"), cluster.changeNode("foreign", { agent: "none" });
  cluster.settle();
  assert.deepEqual(cluster.log.map((action) => action.kind === "create" && action.app.name), ["web-new"]);
  assert.equal(cluster.set.status?.desired, 6);
});

test("an app stays on a node that is cordoned, tainted against new apps, or lost; it leaves one that evicts it or is gone", () => {
  const cluster = running();
  cluster.changeNode("n0", { cordoned: true });
  cluster.changeNode("n1", { taints: [{ key: "a", effect: "NoSchedule" }] });
  cluster.changeNode("n2", { agent: "lost" });
  cluster.settle();
  assert.equal(cluster.log.length, 0);
  assert.equal(cluster.set.status?.desired, 4);
  cluster.changeNode("n3", { taints: [{ key: "a", effect: "NoExecute" }] });
  cluster.leave("n4");
  cluster.settle();
  assert.deepEqual(
    cluster.log.map((action) => action.kind === "delete" && [action.app.metadata.name, action.why]),
    [["web-n3", "it does not tolerate a taint of its node"], ["web-n4", "its node is gone"]],
  );
});

test("a cordoned node whose app was deleted, as by a drain, gets no other one until it is uncordoned", () => {
  const cluster = running();
  cluster.changeNode("n0", { cordoned: true });
  cluster.deleteApp("web-n0");
  cluster.settle();
  assert.equal(cluster.apps.has("web-n0"), false);
  cluster.changeNode("n0", { cordoned: false });
  cluster.settle();
  assert.equal(cluster.apps.has("web-n0"), true);
});

test("replicas are numbered, the lowest free number first; scaling down takes unready apps, then the newest", () => {
  const cluster = new SimulatedCluster({ nodes: 3, spec: { replicas: 3 } });
  const bind = () => {
    for (const app of cluster.own.filter(({ spec }) => !spec.nodeName)) {
      cluster.apps.set(app.metadata.name, { ...app, spec: { ...app.spec, nodeName: "n0" } });
    }
  };
  const run = () => {
    for (let round = 0; round < 4; round++) step(cluster), bind(), agentsAct(cluster);
  };
  run();
  assert.deepEqual(cluster.own.map(({ metadata }) => metadata.name), ["web-0", "web-1", "web-2"]);
  cluster.now += 1000;
  cluster.edit((spec) => ({ ...spec, replicas: 5 }));
  run();
  report(cluster, "web-1", { ready: false });
  cluster.edit((spec) => ({ ...spec, replicas: 3 }));
  const gone = cluster.plan().actions.map((action) => action.kind === "delete" && action.app.metadata.name);
  assert.deepEqual(gone, ["web-1", "web-4"]);
});

test("an app that is being deleted keeps its name and its place until it is gone", () => {
  const cluster = running({ replicas: 2 });
  for (const app of cluster.own) {
    cluster.apps.set(app.metadata.name, { ...app, spec: { ...app.spec, nodeName: "n0" } });
  }
  agentsAct(cluster);
  cluster.settle();
  cluster.deleteApp("web-0");
  cluster.see("web-0");
  assert.deepEqual(cluster.plan().actions, []);
  cluster.agentStep("web-0");
  cluster.see("web-0");
  assert.deepEqual(cluster.plan().actions.map((action) => action.kind === "create" && action.app.name), [
    "web-0",
  ]);
});

test("a rollout changes maxUnavailable apps at a time, and goes on when these are available", () => {
  const cluster = rolling({ maxUnavailable: 2 });
  cluster.editApp({ shellFile: "/opt/v2.sh" });
  step(cluster); // the revision
  assert.deepEqual(next(cluster), ["web-n0", "web-n1"]);
  step(cluster);
  assert.deepEqual(next(cluster), []);
  agentsAct(cluster, 1);
  assert.deepEqual(next(cluster), []);
  agentsAct(cluster, 1);
  assert.deepEqual(next(cluster), ["web-n2", "web-n3"]);
});

test("maxUnavailable as a percentage is rounded down and at least 1; lost nodes do not count", () => {
  for (
    const [maxUnavailable, lost, expected] of [["50%", 0, 2], ["1%", 0, 1], ["50%", 2, 1], [
      "100%",
      0,
      5,
    ]] as const
  ) {
    const cluster = rolling({ maxUnavailable });
    for (let at = 0; at < lost; at++) cluster.changeNode(`n${at}`, { agent: "lost" });
    cluster.editApp({ shellFile: "/opt/v2.sh" });
    step(cluster);
    assert.equal(next(cluster).length, expected, `${maxUnavailable} with ${lost} lost`);
  }
});

test("an app that is not ready anyway costs as much as any other, and does not block the rollout", () => {
  const cluster = rolling({ maxUnavailable: 1 });
  cluster.now += 3_600_000;
  report(cluster, "web-n0", { phase: "BackOff", ready: false });
  cluster.editApp({ shellFile: "/opt/v2.sh" });
  step(cluster);
  assert.deepEqual(next(cluster), ["web-n0"]);
  step(cluster);
  assert.deepEqual(next(cluster), []);
});

test("an app is available when it was ready for minReadySeconds since its update", () => {
  const cluster = running({ minReadySeconds: 30 });
  cluster.editApp({ cpuPCT: "50" });
  step(cluster);
  step(cluster);
  agentsAct(cluster);
  assert.equal(cluster.set.status?.available, 5);
  cluster.now += 29_000;
  assert.deepEqual(next(cluster), []);
  const { checkAt } = cluster.plan();
  assert.equal(checkAt, cluster.now + 1000);
  cluster.now += 1000;
  assert.deepEqual(next(cluster), ["web-n1"]);
});

test("an app that became ready late in a second is not available before minReadySeconds have passed", () => {
  const cluster = running({ minReadySeconds: 1 });
  startRollout(cluster, "/opt/v2.sh");
  // Agents report the second, rounded down.
  cluster.now = Math.ceil(cluster.now / 1000) * 1000 + 900;
  agentsAct(cluster);
  cluster.now += 999;
  assert.deepEqual(next(cluster), []);
  cluster.now += 100;
  assert.deepEqual(next(cluster), ["web-n1"]);
});

test("an old report says nothing about a new revision, nor about a restart that the agent has not seen", () => {
  for (const change of [{ shellFile: "/opt/v2.sh" }, undefined]) {
    const cluster = rolling({ maxUnavailable: 1 });
    if (change) cluster.editApp(change);
    else {
      cluster.edit((spec) => ({
        ...spec,
        template: {
          ...spec.template,
          metadata: { ...spec.template.metadata, annotations: { "app.example.com/restartedAt": "now" } },
        },
      }));
    }
    step(cluster);
    step(cluster);
    assert.equal(cluster.view.get("web-n0")?.status?.ready, true);
    assert.deepEqual(next(cluster), []);
  }
});

test("an update changes only what the template changed", () => {
  const cluster = rolling({ maxUnavailable: 1 });
  cluster.editApp({ cpuPCT: "50" });
  step(cluster);
  const [action] = cluster.plan().actions;
  assert.ok(action?.kind === "update");
  assert.deepEqual((action.patch as { spec: object }).spec, { cpuPCT: "50" });
  cluster.settle();
  // The scheduler wrote a cap of the namespace, and someone an annotation: they stay. The set's own cap goes.
  for (const [name, app] of cluster.apps) {
    const annotations = { ...app.metadata.annotations, note: "x" };
    cluster.apps.set(name, {
      ...app,
      spec: { ...app.spec, memPCT: "10" },
      metadata: { ...app.metadata, annotations },
    });
  }
  cluster.restartController();
  cluster.edit((spec) => {
    const { cpuPCT: _, ...rest } = spec.template.spec;
    return { ...spec, template: { ...spec.template, spec: rest } };
  });
  const second = cluster.plan().actions.find(({ kind }) => kind === "update");
  assert.ok(second?.kind === "update");
  assert.deepEqual((second.patch as { spec: object }).spec, { cpuPCT: null });
  cluster.settle();
  assert.equal(cluster.apps.get("web-n0")?.metadata.annotations?.note, "x");
});

test("failed apps stop the rollout, with nodes and last log lines in an event", () => {
  const cluster = rolling({ maxUnavailable: 1 });
  startRollout(cluster, "/opt/bad.sh");
  agentsAct(cluster);
  report(cluster, "web-n0", { lastExit: { reason: "Error", message: "start\nno such table: users" } });
  const { events, actions } = step(cluster);
  assert.deepEqual(actions, []);
  const [event] = events;
  assert.equal(event?.reason, "Stalled");
  assert.match(
    event.message,
    /1 app has failed \(maxFailed is 1\): default\/web-n0 on node n0: Error: start\nno such table/,
  );
  assert.equal(conditionOf(cluster, "Stalled")?.status, "True");
  assert.deepEqual(step(cluster).events, []);
  // It stays stopped although the app recovers, and a new template ends that.
  report(cluster, "web-n0", { phase: "Running", ready: true });
  assert.deepEqual(step(cluster).actions, []);
  rollOut(cluster, "/opt/v3.sh");
  assert.equal(countOf(cluster, "/opt/v3.sh"), 5);
  assert.equal(conditionOf(cluster, "Stalled")?.status, "False");
});

test("maxFailed tolerates failures below it: they leave the budget, and a failing revision stops in time", () => {
  const cluster = rolling({ maxUnavailable: 1, maxFailed: 3 }, 8);
  rollOut(cluster, "/opt/bad.sh");
  assert.equal(countOf(cluster, "/opt/bad.sh"), 3);
  assert.equal(cluster.set.status?.failed, 3);
});

test("a rollout whose failures are tolerated has ended: later failures neither stop it nor roll it back", () => {
  const cluster = rolling({ maxUnavailable: 2, maxFailed: 2, onFailure: "Rollback" });
  cluster.changeNode("n0", { labels: { disk: "broken" } });
  const patch = { spec: { shellFile: "/opt/bad.sh" } };
  cluster.edit((spec) => ({ ...spec, overrides: [{ nodeSelector: { disk: "broken" }, patch }] }));
  rollOut(cluster, "/opt/v2.sh");
  assert.deepEqual([cluster.set.status?.failed, countOf(cluster, "/opt/v2.sh")], [1, 4]);
  assert.equal(cluster.set.status?.stableRevision, cluster.set.status?.updateRevision);
  report(cluster, "web-n1", { phase: "BackOff", ready: false });
  step(cluster);
  assert.deepEqual([cluster.set.status?.failed, conditionOf(cluster, "Stalled")?.status], [2, "False"]);
});

test("an app that hangs counts as failed after progressDeadlineSeconds", () => {
  const cluster = running({ progressDeadlineSeconds: 60 });
  rollOut(cluster, "/opt/hung.sh");
  assert.equal(countOf(cluster, "/opt/hung.sh"), 1);
  assert.match(conditionOf(cluster, "Stalled")?.message ?? "", /ProgressDeadlineExceeded/);
});

test("onFailure Rollback returns updated apps to the stable revision and leaves the spec alone", () => {
  const cluster = rolling({ maxUnavailable: 2, onFailure: "Rollback" });
  const stable = cluster.set.status!.stableRevision;
  rollOut(cluster, "/opt/bad.sh");
  assert.equal(countOf(cluster, "/opt/web.sh"), 5);
  assert.equal(cluster.set.spec.template.spec.shellFile, "/opt/bad.sh");
  assert.ok(cluster.own.every((app) => cluster.isAvailable(app)));
  assert.equal(conditionOf(cluster, "Stalled")?.reason, "RolledBack");
  assert.equal(conditionOf(cluster, "Progressing")?.reason, "RolledBack");
  assert.equal(cluster.set.status?.stableRevision, stable);
  assert.notEqual(cluster.set.status?.updateRevision, stable);
  rollOut(cluster, "/opt/v3.sh");
  assert.equal(countOf(cluster, "/opt/v3.sh"), 5);
});

test("a rollback of a paused set says that it waits", () => {
  const cluster = rolling({ maxUnavailable: 2, onFailure: "Rollback" });
  startRollout(cluster, "/opt/bad.sh");
  agentsAct(cluster);
  cluster.edit((spec) => ({ ...spec, paused: true }));
  cluster.settle();
  assert.equal(countOf(cluster, "/opt/bad.sh"), 2);
  assert.match(conditionOf(cluster, "Progressing")?.message ?? "", /^paused: 2 apps are going back/);
});

test("a canary waits for its promotion, or promotes itself", () => {
  const manual = rolling({ canary: { count: 2 } });
  rollOut(manual, "/opt/v2.sh");
  assert.equal(countOf(manual, "/opt/v2.sh"), 2);
  assert.equal(conditionOf(manual, "Progressing")?.reason, "WaitingForPromotion");
  manual.promote();
  manual.settle();
  assert.equal(countOf(manual, "/opt/v2.sh"), 5);
  const automatic = rolling({ canary: { count: 2, autoPromote: true } });
  rollOut(automatic, "/opt/v2.sh");
  assert.equal(countOf(automatic, "/opt/v2.sh"), 5);
});

test("apps that start while a canary or a partition holds the others keep the old revision", () => {
  const held: Update[] = [{ canary: { count: 1 } }, { partition: 6 }, {
    canary: { nodeSelector: { tier: "canary" } },
  }];
  for (const update of held) {
    const cluster = rolling({ maxUnavailable: 3, ...update });
    cluster.changeNode("n3", { labels: { tier: "canary" } });
    rollOut(cluster, "/opt/v2.sh");
    cluster.join("new");
    step(cluster);
    assert.ok(!next(cluster).includes("web-new"), JSON.stringify(update));
    cluster.settle();
    const expected = "partition" in update ? 0 : 1;
    assert.equal(countOf(cluster, "/opt/v2.sh"), expected, JSON.stringify(update));
    assert.equal(cluster.own.length, 6);
  }
});

test("what a canary or a partition holds is not forgotten while its node is lost or its app is replaced", () => {
  for (const update of [{ canary: { count: 1 } }, { partition: 1 }]) {
    const cluster = rolling({ maxUnavailable: 2, ...update }, 2);
    rollOut(cluster, "/opt/v2.sh");
    cluster.changeNode("n1", { agent: "lost" });
    cluster.settle();
    cluster.changeNode("n1", { agent: "fresh" });
    cluster.running.delete("web-n1");
    cluster.settle();
    cluster.deleteApp("web-n1");
    cluster.settle();
    assert.deepEqual(scripts(cluster), { "web-n0": "/opt/v2.sh", "web-n1": "/opt/web.sh" });
  }
});

test("a canary that no node matches waits for you, even if it promotes itself", () => {
  const cluster = rolling({ canary: { nodeSelector: { tier: "canary" }, autoPromote: true } });
  rollOut(cluster, "/opt/v2.sh");
  assert.equal(countOf(cluster, "/opt/v2.sh"), 0);
  assert.equal(conditionOf(cluster, "Progressing")?.reason, "WaitingForPromotion");
  assert.match(conditionOf(cluster, "Progressing")?.message ?? "", /^no app is a canary/);
  // The only canary is lost.
  cluster.changeNode("n3", { labels: { tier: "canary" }, agent: "lost" });
  cluster.settle();
  assert.equal(countOf(cluster, "/opt/v2.sh"), 0);
  cluster.changeNode("n3", { agent: "fresh" });
  cluster.settle();
  assert.equal(countOf(cluster, "/opt/v2.sh"), 5);
});

test("a canary by node labels is updated first", () => {
  const cluster = rolling({ canary: { nodeSelector: { tier: "canary" } } });
  cluster.changeNode("n3", { labels: { tier: "canary" } });
  rollOut(cluster, "/opt/v2.sh");
  assert.deepEqual(Object.entries(scripts(cluster)).filter(([, script]) => script === "/opt/v2.sh"), [
    ["web-n3", "/opt/v2.sh"],
  ]);
});

test("partition keeps that many apps at the old revision; paused and OnDelete keep all", () => {
  const partition = rolling({ partition: 2 });
  rollOut(partition, "/opt/v2.sh");
  assert.equal(countOf(partition, "/opt/v2.sh"), 3);
  assert.equal(conditionOf(partition, "Progressing")?.reason, "PartitionReached");
  const paused = running({ paused: true });
  rollOut(paused, "/opt/v2.sh");
  assert.equal(countOf(paused, "/opt/v2.sh"), 0);
  assert.equal(conditionOf(paused, "Progressing")?.reason, "Paused");
  const onDelete = rolling({ type: "OnDelete" });
  rollOut(onDelete, "/opt/v2.sh");
  assert.equal(countOf(onDelete, "/opt/v2.sh"), 0);
  onDelete.deleteApp("web-n2");
  onDelete.settle();
  assert.equal(onDelete.apps.get("web-n2")?.spec.shellFile, "/opt/v2.sh");
});

test("an earlier template is its earlier revision with a new number; old revisions beyond the limit go", () => {
  const cluster = running({ revisionHistoryLimit: 2 });
  const first = cluster.set.status!.updateRevision!;
  for (const version of [2, 3, 4]) {
    cluster.editApp({ shellFile: `/opt/v${version}.sh` });
    cluster.settle();
  }
  assert.deepEqual([...cluster.revisions.values()].map(({ revision }) => revision), [2, 3, 4]);
  assert.ok(!cluster.revisions.has(first));
  rollOut(cluster, "/opt/v3.sh");
  assert.equal(cluster.revisions.get(cluster.set.status!.updateRevision!)?.revision, 5);
  assert.equal(cluster.revisions.size, 3);
});

test("old revisions go while a partition or a pause keeps the rollout from its end", () => {
  for (const spec of [{ update: { partition: 1 } }, { paused: true }]) {
    const cluster = running({ revisionHistoryLimit: 2, ...spec });
    for (const version of [2, 3, 4, 5, 6]) {
      cluster.editApp({ shellFile: `/opt/v${version}.sh` });
      cluster.settle();
    }
    // The newest, the stable one that apps have, and two old ones.
    assert.deepEqual([...cluster.revisions.values()].map(({ revision }) => revision), [1, 4, 5, 6]);
  }
});

test("a revision name that is taken by another object gets another hash", () => {
  const cluster = new SimulatedCluster();
  const [action] = cluster.plan().actions;
  assert.ok(action?.kind === "createRevision");
  const ownerReferences = [{
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    name: "x",
    uid: "other",
    controller: true,
  }];
  const metadata = {
    namespace: "default",
    name: action.name,
    uid: "u",
    resourceVersion: "1",
    ownerReferences,
  };
  cluster.revisions.set(action.name, { metadata, revision: 1, data: action.data });
  const { actions: [again], status } = cluster.plan();
  assert.ok(again?.kind === "createRevision" && again.name !== action.name);
  assert.equal(status.collisionCount, 1);
  cluster.settle();
  assert.equal(cluster.set.status?.updateRevision, again.name);
});

test("overrides change the apps on matching nodes, within the budget, and not where they run", () => {
  const cluster = rolling({ maxUnavailable: 1 });
  cluster.changeNode("n1", { labels: { zone: "lab" } });
  cluster.changeNode("n2", { labels: { zone: "lab" } });
  const revision = cluster.set.status?.updateRevision;
  const patch = { spec: { cpuPCT: "50", nodeSelector: { no: "where" } } };
  cluster.edit((spec) => ({ ...spec, overrides: [{ nodeSelector: { zone: "lab" }, patch }] }));
  assert.deepEqual(next(cluster), ["web-n1"]);
  cluster.settle();
  assert.deepEqual(cluster.own.map(({ spec }) => spec.cpuPCT), [undefined, "50", "50", undefined, undefined]);
  assert.equal(cluster.set.status?.updateRevision, revision);
  cluster.changeNode("n1", { labels: {} });
  cluster.settle();
  assert.equal(cluster.apps.get("web-n1")?.spec.cpuPCT, undefined);
});

test("a new placement moves the set step by step: apps leave nodes and appear on others within the budget", () => {
  const cluster = running();
  for (const at of [0, 1, 2]) cluster.changeNode(`n${at}`, { labels: { zone: "a" } });
  cluster.editApp({ nodeSelector: { zone: "a" } });
  step(cluster);
  const { actions } = cluster.plan();
  assert.equal(actions.length, 1);
  cluster.settle();
  assert.deepEqual(Object.keys(scripts(cluster)), ["web-n0", "web-n1", "web-n2"]);
  cluster.editApp({ nodeSelector: {} });
  cluster.settle();
  assert.equal(cluster.own.length, 5);
});

test("an orphan with the set's labels and one of its names is adopted; one made by hand is not; a relabeled one is let go", () => {
  const cluster = running();
  const free = cluster.apps.get("web-n0")!;
  const relabeled = cluster.apps.get("web-n1")!;
  const store = (app: App) => cluster.apps.set(app.metadata.name, app);
  store({ ...free, metadata: { ...free.metadata, ownerReferences: [] } });
  store({ ...relabeled, metadata: { ...relabeled.metadata, labels: { [setLabels.revision]: "x" } } });
  cluster.addForeign("handmade", { app: "web" });
  cluster.restartController();
  const { actions } = cluster.plan();
  assert.deepEqual(
    actions.map((
      action,
    ) => [action.kind, "app" in action && "metadata" in action.app && action.app.metadata.name]),
    [
      ["adopt", "web-n0"],
      ["orphan", "web-n1"],
    ],
  );
  cluster.settle();
  assert.ok(cluster.apps.has("handmade"));
  // The one that was let go keeps its name: that is a collision.
  assert.equal(conditionOf(cluster, "Progressing")?.reason, "NameCollision");
});

test("an app of someone else with a wanted name is reported and not touched", () => {
  const cluster = new SimulatedCluster({ nodes: 2 });
  cluster.addForeign("web-n1", { app: "other" });
  cluster.restartController();
  cluster.settle();
  assert.equal(cluster.own.length, 1);
  assert.match(conditionOf(cluster, "Progressing")?.message ?? "", /other apps have the names web-n1/);
});

test("a set that is being deleted, or whose spec is invalid, does nothing", () => {
  const cluster = new SimulatedCluster();
  cluster.set = {
    ...cluster.set,
    metadata: { ...cluster.set.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
  };
  assert.deepEqual(cluster.plan(), { actions: [], status: {}, events: [] });
});

test("suspended, completed and scheduled apps count as available; one that runs its last valid spec does not", () => {
  const cluster = running({}, 1);
  const app = cluster.apps.get("web-n0")!;
  const cases = [
    { spec: { suspend: true }, status: { phase: "Stopped", reason: "Suspended" } },
    { spec: { restartPolicy: "Never" }, status: { phase: "Succeeded" } },
    { spec: { schedule: "@daily" }, status: { phase: "Pending", reason: "Scheduled" } },
  ] as const;
  for (const { spec, status } of cases) {
    const changed = {
      ...app,
      spec: { ...app.spec, ...spec },
      status: { observedGeneration: 1, ready: false, ...status },
    };
    assert.ok(cluster.isAvailable(changed), JSON.stringify(status));
  }
  const invalid = { ...app, status: { ...app.status, message: "InvalidSpec: spec.schedule" } };
  assert.ok(!cluster.isAvailable(invalid));
});

test("an app whose node reboots, or that was unbound, waits: it has not failed", () => {
  const cluster = running({}, 1);
  const app = cluster.apps.get("web-n0")!;
  const failed = (status: App["status"]) => {
    const seen = { observedGeneration: 1, ready: false, ...status };
    return healthOf({ ...app, status: seen }, cluster.set.spec, cluster.now).failed;
  };
  const pending = (reason: string) => failed({ phase: "Pending", reason });
  assert.deepEqual(["NodeRebooted", "Unbound", "Evicted", "ScriptNotFound"].map(pending), [
    ...[undefined, undefined, undefined, "ScriptNotFound"],
  ]);
  const ended = (reason: string) => failed({ phase: "BackOff", reason, lastExit: { reason } });
  assert.deepEqual(["NodeRebooted", "Evicted", "Error", "OOMKilled"].map(ended), [
    ...[undefined, undefined, "Error", "OOMKilled"],
  ]);
});

test("apps that are all broken are repaired within the budget: another broken revision does not reach them all", () => {
  const cluster = new SimulatedCluster({ nodes: 5 });
  rollOut(cluster, "/opt/bad.sh");
  assert.equal(countOf(cluster, "/opt/bad.sh"), 5);
  rollOut(cluster, "/opt/bad2.sh");
  assert.equal(countOf(cluster, "/opt/bad2.sh"), 1);
  rollOut(cluster, "/opt/good.sh");
  assert.equal(countOf(cluster, "/opt/good.sh"), 5);
});

test("an app that the scheduler has unbound belongs to its node still, and is not updated again and again", () => {
  const cluster = running({ overrides: [{ nodeSelector: {}, patch: { spec: { cpuPCT: "50" } } }] });
  const app = cluster.apps.get("web-n0")!;
  const { nodeName: _, ...spec } = app.spec;
  cluster.apps.set("web-n0", { ...app, spec });
  cluster.restartController();
  assert.deepEqual(cluster.plan().actions, []);
});

test("names that are too long end with a hash, and hashes do not depend on the order of fields", () => {
  const long = appName("s".repeat(200), "n".repeat(200));
  assert.equal(long.length, 253);
  assert.match(long, /-[0-9a-f]{10}$/);
  assert.notEqual(long, appName("s".repeat(200), "n".repeat(199)));
  assert.equal(appName("web", "node-1.example.com"), "web-node-1.example.com");
  assert.equal(hashOf({ a: 1, b: { c: 2, d: 3 } }), hashOf({ b: { d: 3, c: 2 }, a: 1 }));
  assert.deepEqual(["web-0", "web-10", "web-01", "web-x", "api-1"].map((name) => ordinalOf("web", name)), [
    ...[0, 10, undefined, undefined, undefined],
  ]);
});

test("an app that an earlier override made unavailable counts against the budget and is repaired first", () => {
  const cluster = rolling({ maxUnavailable: 1 });
  cluster.changeNode("n0", { labels: { zone: "a" } });
  cluster.changeNode("n4", { labels: { zone: "b" } });
  const override = (zone: string) =>
    cluster.edit((spec) => ({
      ...spec,
      overrides: [{ nodeSelector: { zone }, patch: { spec: { args: ["x"] } } }],
    }));
  override("b");
  assert.deepEqual(next(cluster), ["web-n4"]);
  step(cluster);
  override("a");
  assert.deepEqual(next(cluster), ["web-n4"]);
});

test("a mirror of a local app is never adopted, whatever its labels and its name", () => {
  const cluster = running({ replicas: 2 });
  const [app] = cluster.own;
  const { ownerReferences: _, ...metadata } = app!.metadata;
  const world = cluster.world();
  const mirror = {
    ...app!,
    metadata: {
      ...metadata,
      name: "web-7",
      uid: "mirror",
      annotations: { [annotations.mirror]: "n1/0123456789abcdef" },
    },
  };
  const copy = { ...mirror, metadata: { ...mirror.metadata, annotations: {} } };
  const adopted = (other: App) =>
    plan({ ...world, apps: [...world.apps, other] }).actions.filter(({ kind }) => kind === "adopt").length;
  assert.deepEqual([adopted(mirror), adopted(copy)], [0, 1]);
});

test("kstatus: a set is current when its rollout is complete, in progress on the way, and failed when it stalls", () => {
  const fresh = new SimulatedCluster({ nodes: 3 });
  step(fresh);
  step(fresh);
  assert.equal(kstatus(fresh.set), "InProgress", "no app runs yet");
  fresh.settle();
  const { status = {} } = fresh.set;
  assert.equal(kstatus(fresh.set), "Current", JSON.stringify(status.conditions));
  assert.deepEqual(
    [status.replicas, status.readyReplicas, status.updatedReplicas, status.availableReplicas],
    [status.current, status.ready, status.updated, status.available],
  );
  assert.equal(conditionOf(fresh, "Reconciling"), undefined);
  startRollout(fresh, "/opt/next.sh");
  assert.equal(kstatus(fresh.set), "InProgress");
  assert.equal(conditionOf(fresh, "Reconciling")?.status, "True");

  const partition = rolling({ partition: 2 });
  rollOut(partition, "/opt/next.sh");
  assert.equal(kstatus(partition.set), "Current", "as a StatefulSet");
  const paused = running({ paused: true });
  rollOut(paused, "/opt/next.sh");
  assert.equal(kstatus(paused.set), "InProgress", "as a Deployment");
  const bad = running();
  rollOut(bad, "/opt/bad.sh");
  assert.equal(kstatus(bad.set), "Failed");
  for (const { set } of [fresh, partition, paused, bad]) {
    for (const { type, observedGeneration } of set.status?.conditions ?? []) {
      assert.equal(observedGeneration, set.metadata.generation, type);
    }
  }
});
