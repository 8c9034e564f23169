/** What must hold whatever the cluster looks like, tried on many made-up ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { filters } from "../../../src/scheduler/filters/filters.ts";
import type { NodeEntry } from "../../../src/scheduler/node-entry.ts";
import { preempt } from "../../../src/scheduler/place/preempt.ts";
import { seededRandom } from "../../../src/scheduler/place/choose-node.ts";
import { allRefusals } from "../../../src/scheduler/place/refusals.ts";
import { chooseNode } from "../../../src/scheduler/place/choose-node.ts";
import { planNodeLoss } from "../../../src/scheduler/node-loss/plan.ts";
import { tolerationMs } from "../../../src/api/placement/tolerations.ts";
import type { Toleration } from "../../../src/api/types.ts";
import type { Snapshot } from "../../../src/scheduler/state/snapshot.ts";
import type { Policy, SchedulerApp, Taint } from "../../../src/scheduler/types.ts";
import { app, mixedApps, mixedNodes, snapshotOf } from "../sample-cluster.ts";

const seeds = Array.from({ length: 20 }, (_, at) => at + 1);

interface Run {
  snapshot: Snapshot;
  placed: Map<string, string>;
  refused: SchedulerApp[];
}

/** The apps of a seed, made once: that takes longer than to place them. */
const made: SchedulerApp[][] = [];
const appsOf = (seed: number) => made[seed] ??= mixedApps(400, seed + 2000, 1.5);

/** Fills a small cluster until much of it is refused; `leave` takes some apps away again in between. */
function fill(
  seed: number,
  { policy = "spread" as Policy, check = (_app: SchedulerApp, _node: NodeEntry) => {} } = {},
): Run {
  const snapshot = mixedNodes(40, seed);
  const random = seededRandom(seed + 1000);
  const placed = new Map<string, string>();
  const refused: SchedulerApp[] = [];
  let start = 0;
  for (const app of appsOf(seed)) {
    const decision = chooseNode(app, snapshot, { policy, now: 0, random, start, enough: () => 10 });
    if ("node" in decision) {
      check(app, snapshot.node(decision.node)!);
      snapshot.place(app, decision.node);
      placed.set(app.key, decision.node);
      start = (start + decision.examined) % snapshot.nodes.length;
    } else refused.push(app);
    const [oldest] = placed.keys();
    if (oldest && random() < 0.1) {
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

for (const policy of ["spread", "binpack"] as const) {
  test(`under ${policy} no node is above 100 less its reserve and no port is used twice`, () => {
    for (const seed of seeds) {
      const { snapshot, placed, refused } = fill(seed, { policy });
      for (const node of snapshot.nodes) assertSound(node);
      assert.ok(placed.size > 0 && refused.length > 0, "the cluster must fill up for this to mean anything");
    }
  });

  test(`under ${policy} every app passes every filter of its node`, () => {
    for (const seed of seeds) {
      fill(seed, { policy, check: (app, node) => assert.deepEqual(allRefusals(app, node, 0), []) });
    }
  });
}

test("an app is refused only if every node refuses it", () => {
  for (const seed of seeds) {
    const { snapshot, refused } = fill(seed);
    const last = refused.at(-1)!;
    const decision = chooseNode(last, snapshot, { policy: "spread", now: 0, random: () => 0 });
    for (const node of snapshot.nodes) {
      const isFree = allRefusals(last, node, 0).length === 0;
      if (isFree) assert.ok("node" in decision, `${node.name} would have taken ${last.key}`);
    }
  }
});

test("the same seed gives the same placement, another seed another one", () => {
  const [first, again, other] = [fill(3), fill(3), fill(4)];
  assert.deepEqual(first.placed, again.placed);
  assert.notDeepEqual(first.placed, other.placed);
});

test("preemption never ends an app of equal or higher priority, makes enough room, and ends no app needlessly", () => {
  let found = 0;
  for (const seed of seeds) {
    const { snapshot } = fill(seed);
    for (const app of mixedApps(40, seed + 3000, 4)) {
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
  }
  assert.ok(found > 100, `only ${found} preemptions were tried`);
});

test("no app is bound to a node that evicts it before its tolerated time, nor back to the one that evicted it", () => {
  const random = seededRandom(16);
  const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)]!;
  const keys = ["repair", "spot", "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"];
  const some = <T>(make: () => T) => Array.from({ length: Math.floor(random() * 4) }, make);
  const now = 1_000_000;
  const randomTaint = (): Taint => ({
    key: pick(keys),
    effect: pick(["NoExecute", "NoExecute", "NoSchedule"]),
    since: now - pick([0, 5, 10, 60]) * 1000,
  });
  const randomToleration = (): Toleration =>
    random() < 0.05 ? { operator: "Exists" } : {
      key: pick(keys),
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: pick([undefined, 0, 1, 10, 30]),
    };
  const isEvicted = (node: NodeEntry, at: number) =>
    planNodeLoss([{ node, health: { state: "fresh" } }], { now: at }).actions.length > 0;
  const counts = { evicted: 0, kept: 0 };
  for (let world = 0; world < 3000; world++) {
    const snapshot = snapshotOf({ a: { taints: some(randomTaint) }, b: { taints: some(randomTaint) } });
    const web = app("web", { tolerations: some(randomToleration) });
    const decision = chooseNode(web, snapshot, { policy: "spread", now, random });
    const context = () =>
      JSON.stringify([snapshot.nodes.map((node) => node.properties.taints), web.placement]);
    if (!("node" in decision)) continue;
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
      assert.ok(!isEvicted(node, now + 1e12), context());
      continue;
    }
    counts.evicted++;
    assert.ok(keepMs > 0 && !isEvicted(node, now + keepMs - 1), `evicted early: ${context()}`);
    assert.ok(isEvicted(node, now + keepMs), `never evicted: ${context()}`);
    assert.notDeepEqual(allRefusals(web, node, now + keepMs), [], `goes back: ${context()}`);
    for (const other of snapshot.nodes) {
      const isBetter = tolerated(other) === Infinity && allRefusals(web, other, now).length === 0;
      assert.ok(!isBetter, `${other.name} could have kept it: ${context()}`);
    }
  }
  assert.ok(counts.evicted > 50 && counts.kept > 500, JSON.stringify(counts));
});

test("filters have unique names", () => {
  assert.equal(new Set(filters.map(({ name }) => name)).size, filters.length);
});
