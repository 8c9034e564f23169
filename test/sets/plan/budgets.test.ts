/**
 * PodDisruptionBudgets in rollouts: a controller of budgets that counts late, evictions that the API server grants, agents that are slow,
 * and a sets controller that sees late.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Budget, covers, disruptionsLeft, noticeMs } from "../../../src/api/placement/placement.ts";
import { healthOf, updatedAt } from "../../../src/sets/plan/health.ts";
import type { App } from "../../../src/sets/types.ts";
import { runs } from "../../properties.ts";
import { SimulatedCluster } from "./simulated-cluster.ts";

const apps = 6;

class World extends SimulatedCluster {
  budget: Budget = {
    namespace: "default",
    name: "web",
    selector: {},
    allowed: 0,
    healthy: 0,
    expected: apps,
  };
  readonly minAvailable: number;
  /** Evicted apps: their Pods count as unready, and they report nothing yet. */
  readonly evicted = new Set<string>();

  constructor(minAvailable: number, maxUnavailable: number) {
    super({ nodes: 3, spec: { replicas: apps, update: { maxUnavailable } } });
    this.minAvailable = minAvailable;
    this.editApp({ shellFile: "/v0" });
    for (let round = 0; round < 4; round++) {
      this.reconcile();
      this.bind();
      this.run();
    }
    this.count();
    this.budgets = () => {
      const covered = [...this.view.values()].filter(({ metadata }) =>
        covers(this.budget, metadata.labels ?? {})
      );
      const seen = covered.map((app) => ({
        ready: healthOf(app, this.set.spec, this.now).ready,
        changed: Math.abs(this.now - updatedAt(app)) < noticeMs,
      }));
      return [{ ...this.budget, left: disruptionsLeft(this.budget, seen) }];
    };
  }

  get readyPods(): number {
    return this.own.filter((app) => this.isPodReady(app)).length;
  }

  isPodReady(app: App): boolean {
    return !this.evicted.has(app.metadata.name) && healthOf(app, this.set.spec, this.now).ready;
  }

  run(): void {
    for (let step = 0; step < 2; step++) {
      for (const name of [...this.apps.keys()]) this.agentStep(name);
    }
    for (const name of [...this.apps.keys()]) this.see(name);
  }

  /** The controller of budgets counts. */
  count(): void {
    const healthy = this.readyPods;
    this.budget = { ...this.budget, healthy, allowed: Math.max(0, healthy - this.minAvailable) };
  }

  /** The API server grants an eviction and notes it in the budget. */
  evict(which: number): void {
    const app = this.own.filter((app) => this.isPodReady(app))[which];
    if (!app || this.budget.allowed === 0) return;
    this.budget = { ...this.budget, allowed: this.budget.allowed - 1 };
    this.evicted.add(app.metadata.name);
  }

  /** It runs elsewhere: its new Pod is ready. */
  finishEvictions(): void {
    this.evicted.clear();
  }
}

type Step =
  | { do: "reconcile" | "count" }
  | { do: "run" | "finish" | "bind" }
  | { do: "agent" | "see" | "evict"; which: number }
  | { do: "wait"; seconds: number }
  | { do: "edit"; script: string };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom("reconcile" as const, "reconcile" as const, "count" as const) }),
  fc.record({ do: fc.constantFrom("run" as const, "finish" as const, "bind" as const) }),
  fc.record({
    do: fc.constantFrom("agent" as const, "see" as const, "evict" as const),
    which: fc.nat(apps - 1),
  }),
  fc.record({ do: fc.constant("wait" as const), seconds: fc.constantFrom(1, 5, 15) }),
  fc.record({ do: fc.constant("edit" as const), script: fc.constantFrom("/v1", "/v2", "/v3") }),
);

test("no rollout takes a ready app below the budget, whatever is evicted meanwhile", () => {
  const world = fc.record({
    minAvailable: fc.integer({ min: 1, max: apps }),
    maxUnavailable: fc.integer({ min: 1, max: 4 }),
    steps: fc.array(step, { maxLength: 60, size: "max" }),
  });
  fc.assert(
    fc.property(world, ({ minAvailable, maxUnavailable, steps }) => {
      const cluster = new World(minAvailable, maxUnavailable);
      for (const step of steps) {
        if (step.do === "reconcile") {
          const ready = new Set(
            cluster.own.filter((app) => cluster.isPodReady(app)).map(({ metadata }) => metadata.name),
          );
          const { actions } = cluster.reconcile();
          const hit = actions.filter((action) =>
            (action.kind === "update" || action.kind === "delete") && ready.has(action.app.metadata.name)
          );
          assert.ok(
            hit.length === 0 || ready.size - hit.length >= minAvailable,
            `${ready.size} - ${hit.length}`,
          );
        } else if (step.do === "count") cluster.count();
        else if (step.do === "run") cluster.run();
        else if (step.do === "bind") cluster.bind();
        else if (step.do === "finish") cluster.finishEvictions();
        else if (step.do === "evict") cluster.evict(step.which);
        else if (step.do === "edit") cluster.editApp({ shellFile: step.script });
        else if (step.do === "wait") {
          // The controller of budgets is slow, but not as slow as that.
          cluster.count();
          cluster.now += step.seconds * 1000;
        } else if ("which" in step) {
          const name = [...cluster.apps.keys()][step.which];
          if (name && step.do === "agent") cluster.agentStep(name);
          else if (name) cluster.see(name);
        }
      }
    }),
    runs(300),
  );
});

test("a rollout that waits for a budget says so, and goes on when the budget allows it", () => {
  const cluster = new World(apps, 2);
  cluster.editApp({ shellFile: "/v1" });
  const progress = () =>
    cluster.set.status?.conditions?.find(({ type }) => type === "Progressing")?.message ?? "";
  for (let round = 0; round < 3; round++) cluster.reconcile(), cluster.run();
  assert.match(progress(), /waits for the PodDisruptionBudget web$/);
  assert.ok(cluster.own.every(({ spec }) => spec.shellFile === "/v0"));
  cluster.budget = { ...cluster.budget, allowed: 1 };
  cluster.reconcile();
  assert.equal(cluster.own.filter(({ spec }) => spec.shellFile === "/v1").length, 1);
});

test("a rollout that restarts apps spreads them again, and one that does not leaves them where they are", () => {
  const cluster = new SimulatedCluster({ nodes: 3, spec: { replicas: 6, update: { maxUnavailable: 6 } } });
  cluster.changeNode("n2", { agent: "none" });
  for (let round = 0; round < 4; round++) cluster.reconcile(), cluster.bind(), cluster.settle();
  cluster.changeNode("n2", { agent: "fresh" });
  const moved = () => cluster.own.filter(({ spec }) => !spec.nodeName).length;
  cluster.editApp({ terminationGracePeriodSeconds: 7 });
  cluster.reconcile();
  cluster.reconcile();
  assert.equal(moved(), 0);
  cluster.settle();
  cluster.editApp({ args: ["again"] });
  cluster.reconcile();
  cluster.reconcile();
  // 3/3/0 becomes 2/2/2.
  assert.equal(moved(), 2);
});

test("a rollout that restarts apps evens out zones, too, as far as nodes stay even", () => {
  const cluster = new SimulatedCluster({ nodes: 4, spec: { replicas: 6, update: { maxUnavailable: 6 } } });
  for (const [name, zone] of Object.entries({ n0: "a", n1: "a", n2: "b", n3: "b" })) {
    cluster.changeNode(name, { labels: { "topology.kubernetes.io/zone": zone } });
  }
  for (let round = 0; round < 4; round++) cluster.reconcile(), cluster.bind(), cluster.settle();
  // 2/2 and 1/1, where 2/1 and 2/1 is possible.
  assert.deepEqual(
    ["n0", "n1", "n2", "n3"].map((name) => cluster.own.filter(({ spec }) => spec.nodeName === name).length),
    [2, 2, 1, 1],
  );
  cluster.editApp({ args: ["again"] });
  cluster.reconcile();
  cluster.reconcile();
  const moved = cluster.own.filter(({ spec }) => !spec.nodeName);
  assert.equal(moved.length, 1);
  cluster.change(moved[0]!.metadata.name, { ...moved[0]!.spec, nodeName: "n2" });
  cluster.settle();
  cluster.editApp({ args: ["once more"] });
  cluster.reconcile();
  cluster.reconcile();
  assert.deepEqual(cluster.own.filter(({ spec }) => !spec.nodeName), []);
});
