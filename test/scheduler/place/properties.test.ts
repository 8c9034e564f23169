/** What must hold whatever the cluster looks like, tried on many made-up ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { filters } from "../../../src/scheduler/filters/filters.ts";
import type { NodeEntry } from "../../../src/scheduler/node-entry.ts";
import { preempt } from "../../../src/scheduler/place/preempt.ts";
import { seededRandom } from "../../../src/scheduler/place/choose-node.ts";
import { allRefusals } from "../../../src/scheduler/place/refusals.ts";
import { chooseNode } from "../../../src/scheduler/place/choose-node.ts";
import type { Snapshot } from "../../../src/scheduler/state/snapshot.ts";
import type { Policy, SchedulerApp } from "../../../src/scheduler/types.ts";
import { mixedApps, mixedNodes } from "../sample-cluster.ts";

const seeds = Array.from({ length: 20 }, (_, at) => at + 1);

interface Run {
  snapshot: Snapshot;
  placed: Map<string, string>;
  refused: SchedulerApp[];
}

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
  for (const app of mixedApps(400, seed + 2000, 1.5)) {
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
      fill(seed, { policy, check: (app, node) => assert.deepEqual(allRefusals(app, node), []) });
    }
  });
}

test("an app is refused only if every node refuses it", () => {
  for (const seed of seeds) {
    const { snapshot, refused } = fill(seed);
    const last = refused.at(-1)!;
    const decision = chooseNode(last, snapshot, { policy: "spread", now: 0, random: () => 0 });
    for (const node of snapshot.nodes) {
      const isFree = allRefusals(last, node).length === 0;
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
      const preemption = preempt(app, snapshot, { policy: "spread" });
      if (!preemption) continue;
      found++;
      const trial = snapshot.node(preemption.node)!.copy();
      for (const victim of preemption.victims) {
        assert.ok(victim.priority < app.priority, `${victim.key} is not below ${app.key}`);
        trial.remove(victim.key);
      }
      assert.deepEqual(allRefusals(app, trial), []);
      for (const spared of preemption.victims) {
        const kinder = snapshot.node(preemption.node)!.copy();
        for (const victim of preemption.victims) if (victim !== spared) kinder.remove(victim.key);
        assert.notDeepEqual(allRefusals(app, kinder), [], `${spared.key} could have stayed`);
      }
    }
  }
  assert.ok(found > 100, `only ${found} preemptions were tried`);
});

test("filters have unique names", () => {
  assert.equal(new Set(filters.map(({ name }) => name)).size, filters.length);
});
