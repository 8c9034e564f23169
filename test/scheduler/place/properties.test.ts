/** What must hold whatever the cluster looks like. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { tolerationMs } from "../../../src/api/placement/placement.ts";
import type { Toleration } from "../../../src/api/types.ts";
import { filters } from "../../../src/scheduler/filters/filters.ts";
import type { NodeEntry } from "../../../src/scheduler/node-entry.ts";
import { planNodeLoss } from "../../../src/scheduler/node-loss/node-loss.ts";
import { chooseNode } from "../../../src/scheduler/place/place.ts";
import { preempt } from "../../../src/scheduler/place/preempt.ts";
import { allRefusals } from "../../../src/scheduler/place/refusals.ts";
import { seededRandom } from "../../random.ts";
import type { Policy, SchedulerApp, Taint } from "../../../src/scheduler/types.ts";
import { mostly, runs } from "../../properties.ts";
import { type AppShape, appShape, appsOf, type NodeShape, nodeShape, nodesOf } from "../mixed-cluster.ts";
import { app, snapshotOf } from "../sample-cluster.ts";

interface World {
  nodes: NodeShape[];
  /** The apps in the order in which they come; with some, the oldest app leaves. */
  apps: { app: AppShape; endsOldest: boolean }[];
  policy: Policy;
  /** Decides between nodes that are equally good. */
  seed: number;
}

/** Most clusters are too small for their apps, if lengths are not biased to short ones. */
const world: fc.Arbitrary<World> = fc.record({
  nodes: fc.array(nodeShape, { minLength: 1, maxLength: 40, size: "max" }),
  apps: fc.array(fc.record({ app: appShape, endsOldest: mostly(false, 10, fc.constant(true)) }), {
    maxLength: 400,
    size: "max",
  }),
  policy: fc.constantFrom<Policy[]>("spread", "binpack"),
  seed: fc.nat(),
});

/** Fills a cluster until much of it is refused. */
function fill({ nodes, apps, policy, seed }: World, check = (_app: SchedulerApp, _node: NodeEntry) => {}) {
  const snapshot = nodesOf(nodes);
  const random = seededRandom(seed);
  const placed = new Map<string, string>();
  const refused: SchedulerApp[] = [];
  let start = 0;
  for (const [at, app] of appsOf(apps.map(({ app }) => app), 1.5).entries()) {
    const decision = chooseNode(app, snapshot, { policy, now: 0, random, start, enough: () => 10 });
    if ("node" in decision) {
      check(app, snapshot.node(decision.node)!);
      snapshot.place(app, decision.node);
      placed.set(app.key, decision.node);
      start = (start + decision.examined) % snapshot.nodes.length;
    } else refused.push(app);
    const [oldest] = placed.keys();
    if (oldest && apps[at]!.endsOldest) {
      snapshot.remove(oldest);
      placed.delete(oldest);
    }
  }
  return { snapshot, placed, refused };
}

/** Counts anew from the apps themselves what the node says is taken. */
function assertSound(node: NodeEntry): void {
  const apps = [...node.apps.values()];
  const sum = (share: "cpu" | "mem") => apps.reduce((points, app) => points + app[share], 0);
  assert.deepEqual([node.usedCpu, node.usedMem], [sum("cpu"), sum("mem")], node.name);
  assert.ok(node.usedCpu <= node.roomCpu && node.usedMem <= node.roomMem, `${node.name} is over its room`);
  const ports = apps.flatMap((app) => app.ports);
  assert.equal(new Set(ports).size, ports.length, `${node.name} gave a port twice`);
}

test("every app passes every filter of its node, no node is above 100 less its reserve, and no port is used twice", () => {
  const full = { spread: 0, binpack: 0 };
  const property = fc.property(world, (world) => {
    const passesAll = (app: SchedulerApp, node: NodeEntry) => assert.deepEqual(allRefusals(app, node, 0), []);
    const { snapshot, placed, refused } = fill(world, passesAll);
    for (const node of snapshot.nodes) assertSound(node);
    if (placed.size > 0 && refused.length > 0) full[world.policy]++;
  });
  const settings = { ...runs(80), unbiased: true };
  fc.assert(property, settings);
  const least = Math.min(full.spread, full.binpack);
  assert.ok(least >= Math.floor(settings.numRuns / 10), `only ${JSON.stringify(full)} clusters fill up`);
});

test("an app is refused only if every node refuses it", () => {
  let found = 0;
  const property = fc.property(world, (world) => {
    const { snapshot, refused } = fill(world);
    const last = refused.at(-1);
    if (!last) return;
    found++;
    const decision = chooseNode(last, snapshot, { policy: "spread", now: 0, random: () => 0 });
    for (const node of snapshot.nodes) {
      const isFree = allRefusals(last, node, 0).length === 0;
      if (isFree) assert.ok("node" in decision, `${node.name} would have taken ${last.key}`);
    }
  });
  const settings = { ...runs(40), unbiased: true };
  fc.assert(property, settings);
  assert.ok(found >= Math.floor(settings.numRuns / 4), `only ${found} clusters refuse an app`);
});

test("the same seed gives the same placement, another seed another one", () => {
  let others = 0;
  const property = fc.property(world, (world) => {
    const { placed } = fill(world);
    assert.deepEqual(fill(world).placed, placed);
    if (!isDeepStrictEqual(fill({ ...world, seed: world.seed + 1 }).placed, placed)) others++;
  });
  const settings = { ...runs(20), unbiased: true };
  fc.assert(property, settings);
  assert.ok(others >= Math.floor(settings.numRuns / 4), `another seed changes only ${others} clusters`);
});

test("preemption never ends an app of equal or higher priority, makes enough room, and ends no app needlessly", () => {
  let found = 0;
  const urgent = fc.array(appShape, { maxLength: 40, size: "max" });
  const property = fc.property(world, urgent, (world, urgent) => {
    const { snapshot } = fill(world);
    for (const app of appsOf(urgent, 4)) {
      const preemption = preempt(app, snapshot, { policy: "spread", now: 0 });
      if (!preemption) continue;
      found++;
      const trial = snapshot.node(preemption.node)!.copy();
      for (const victim of preemption.victims) {
        assert.ok(victim.priority < app.priority, `${victim.key} is not below ${app.key}`);
        trial.remove(victim.key);
      }
      assert.deepEqual(allRefusals(app, trial, 0), []);
      for (const spared of preemption.victims) {
        const kinder = snapshot.node(preemption.node)!.copy();
        for (const victim of preemption.victims) if (victim !== spared) kinder.remove(victim.key);
        assert.notDeepEqual(allRefusals(app, kinder, 0), [], `${spared.key} could have stayed`);
      }
    }
  });
  const settings = { ...runs(60), unbiased: true };
  fc.assert(property, settings);
  assert.ok(found > 2 * settings.numRuns, `only ${found} preemptions were tried`);
});

test("no app is bound to a node that evicts it before its tolerated time, nor back to the one that evicted it", () => {
  const now = 1_000_000;
  const key = fc.constantFrom(
    "repair",
    "spot",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/not-ready",
  );
  const taint: fc.Arbitrary<Taint> = fc.record({
    key,
    effect: fc.constantFrom("NoExecute", "NoExecute", "NoSchedule"),
    since: fc.constantFrom(0, 5, 10, 60).map((seconds) => now - seconds * 1000),
  });
  const toleration: fc.Arbitrary<Toleration> = fc.oneof(
    { weight: 1, arbitrary: fc.constant({ operator: "Exists" }) },
    {
      weight: 19,
      arbitrary: fc.record({
        key,
        operator: fc.constant("Exists"),
        effect: fc.constant("NoExecute"),
        tolerationSeconds: fc.constantFrom(undefined, 0, 1, 10, 30),
      }),
    },
  );
  const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 3 });
  const isEvicted = (node: NodeEntry, at: number) =>
    planNodeLoss([{ node, health: { state: "fresh" } }], { now: at }).actions.length > 0;
  const counts = { evicted: 0, kept: 0 };
  const property = fc.property(
    some(taint),
    some(taint),
    some(toleration),
    fc.nat(),
    (a, b, tolerations, seed) => {
      const snapshot = snapshotOf({ a: { taints: a }, b: { taints: b } });
      const web = app("web", { tolerations });
      const decision = chooseNode(web, snapshot, { policy: "spread", now, random: seededRandom(seed) });
      if (!("node" in decision)) return;
      const node = snapshot.node(decision.node)!;
      const tolerated = (entry: NodeEntry) =>
        Math.min(
          ...entry.properties.taints.filter(({ effect, key }) =>
            effect === "NoExecute" && !key.endsWith("not-ready")
          ).map((taint) => tolerationMs(web.placement.tolerations, [taint]) ?? 0),
        );
      const keepMs = tolerated(node);
      snapshot.place({ ...web, nodeName: node.name, boundAt: now }, node.name);
      if (keepMs === Infinity) {
        counts.kept++;
        return assert.ok(!isEvicted(node, now + 1e12));
      }
      counts.evicted++;
      assert.ok(keepMs > 0 && !isEvicted(node, now + keepMs - 1), "evicted early");
      assert.ok(isEvicted(node, now + keepMs), "never evicted");
      assert.notDeepEqual(allRefusals(web, node, now + keepMs), [], "goes back");
      for (const other of snapshot.nodes) {
        const isBetter = tolerated(other) === Infinity && allRefusals(web, other, now).length === 0;
        assert.ok(!isBetter, `${other.name} could have kept it`);
      }
    },
  );
  const settings = runs(3000);
  fc.assert(property, settings);
  assert.ok(
    counts.evicted >= Math.floor(settings.numRuns / 60) && counts.kept >= Math.floor(settings.numRuns / 6),
    JSON.stringify(counts),
  );
});

test("filters have unique names", () => {
  assert.equal(new Set(filters.map(({ name }) => name)).size, filters.length);
});
