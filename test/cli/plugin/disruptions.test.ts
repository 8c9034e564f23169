/**
 * Every voluntary disruption of a set at once: rollouts, `kubectl ncapp drain`, evictions of Pods and preemption, with a budget whose
 * status is late.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type Budget,
  disruptionsLeft,
  maxUnavailableOf,
  noticeMs,
} from "../../../src/api/placement/placement.ts";
import { countBudgets, type Moved } from "../../../src/cli/plugin/drain-plan.ts";
import { Budgets } from "../../../src/scheduler/state/state.ts";
import type { SchedulerApp } from "../../../src/scheduler/types.ts";
import { healthOf, updatedAt } from "../../../src/sets/plan/plan.ts";
import type { App } from "../../../src/sets/types.ts";
import { runs } from "../../properties.ts";
import { SimulatedCluster } from "../../sets/plan/simulated-cluster.ts";

const apps = 6;
const node = "n0";

type Actor = "rollout" | "drain" | "preemption" | "eviction";

class World extends SimulatedCluster {
  status: Budget = {
    namespace: "default",
    name: "web",
    selector: {},
    allowed: 0,
    healthy: 0,
    expected: apps,
  };
  /** Apps that an actor made unavailable, until they are ready again; `shown`: the status of the budget has counted it. */
  readonly disrupted = new Map<string, { by: Actor; shown: boolean }>();
  readonly moved = new Map<string, Moved>();
  readonly preemptions = new Budgets();
  readonly minAvailable: number;

  constructor(minAvailable: number, maxUnavailable: number) {
    super({ nodes: 3, spec: { replicas: apps, update: { maxUnavailable } } });
    this.minAvailable = minAvailable;
    this.editApp({ shellFile: "/v0" });
    for (let round = 0; round < 4; round++) this.reconcile(), this.bind(), this.run();
    this.count();
    this.budgets = () => {
      const seen = [...this.view.values()].map((app) => ({
        ready: healthOf(app, this.set.spec, this.now).ready,
        changed: Math.abs(this.now - updatedAt(app)) < noticeMs,
      }));
      return [{ ...this.status, left: disruptionsLeft(this.status, seen) }];
    };
  }

  get ready(): App[] {
    const isEvicted = (name: string) => this.disrupted.get(name)?.by === "eviction";
    return this.own.filter((app) =>
      healthOf(app, this.set.spec, this.now).ready && !isEvicted(app.metadata.name)
    );
  }

  run(): void {
    for (let step = 0; step < 2; step++) for (const name of [...this.apps.keys()]) this.agentStep(name);
    for (const name of [...this.apps.keys()]) this.see(name);
    this.settleDisruptions();
  }

  settleDisruptions(): void {
    const ready = new Set(this.ready.map(({ metadata }) => metadata.name));
    for (const name of this.disrupted.keys()) if (ready.has(name)) this.disrupted.delete(name);
  }

  /** The controller of budgets counts. */
  count(): void {
    const healthy = this.ready.length;
    this.status = { ...this.status, healthy, allowed: Math.max(0, healthy - this.minAvailable) };
    for (const disruption of this.disrupted.values()) disruption.shown = true;
  }

  /**
   * What an actor disrupts now. The bound of record 26: what others have disrupted, and the status does not show yet, is what it may miss.
   */
  disrupt(by: Actor, names: readonly string[]): void {
    const ready = new Set(this.ready.map(({ metadata }) => metadata.name));
    const hit = names.filter((name) => ready.has(name));
    const missed = [...this.disrupted.values()].filter((before) => before.by !== by && !before.shown).length;
    const rest = ready.size - hit.length;
    assert.ok(
      hit.length === 0 || rest >= this.minAvailable - missed,
      `${by} of ${hit}: ${rest} of ${this.minAvailable} are left, and ${missed} may be missed`,
    );
    for (const name of hit) this.disrupted.set(name, { by, shown: by === "eviction" });
  }

  unbind(name: string): void {
    const { nodeName: _, ...spec } = this.apps.get(name)!.spec;
    this.change(name, spec);
  }

  /** The API server grants the eviction of a Pod, and notes it in the budget. */
  evictPod(name: string, by: Actor = "eviction"): boolean {
    if (this.status.allowed === 0) return false;
    this.disrupt(by, [name]);
    this.disrupted.set(name, { by: "eviction", shown: true });
    this.status = { ...this.status, allowed: this.status.allowed - 1 };
    return true;
  }

  /** The agent and the scheduler move what was evicted. */
  finishEvictions(): void {
    for (const [name, { by }] of this.disrupted) {
      if (by !== "eviction") continue;
      if (this.apps.has(name)) this.unbind(name);
      this.disrupted.set(name, { by: "drain", shown: true });
    }
  }

  /** One round of a drain: `pods` are evicted, other apps unbound, as those of mirror Pods. */
  drain(pods: boolean): void {
    const budgets = countBudgets({
      sets: [this.set],
      // Agents report their node.
      apps: this.own.map((app) => ({ ...app, status: { ...app.status, nodeName: app.spec.nodeName ?? "" } })),
      budgets: [this.status],
      node,
      moved: this.moved,
      now: this.now,
    });
    for (const app of this.own.filter(({ spec }) => spec.nodeName === node)) {
      const { name, uid } = app.metadata;
      if (this.moved.has(uid) || budgets.refuses(app)) continue;
      // Of an eviction by another client, neither the app nor its set shows anything yet.
      const unavailable = this.own.filter((app) =>
        !healthOf(app, this.set.spec, this.now).ready ||
        app.spec.nodeName === node && this.moved.has(app.metadata.uid)
      ).length;
      const most = maxUnavailableOf(this.set.spec.update?.maxUnavailable, apps);
      const isReady = this.ready.some(({ metadata }) => metadata.name === name);
      if (isReady && this.status.allowed === 0) continue;
      assert.ok(
        !isReady || unavailable < most,
        `${unavailable} of the set are unavailable, and ${most} may be`,
      );
      if (!pods) this.disrupt("drain", [name]), this.unbind(name);
      else if (!this.evictPod(name, "drain")) continue;
      budgets.spend(app);
      this.moved.set(uid, { at: this.now, hadPod: true });
    }
  }

  preempt(which: number): void {
    const app = this.ready[which];
    if (!app) return;
    const { name, namespace, labels = {} } = app.metadata;
    const victim = { key: `${namespace}/${name}`, namespace, labels } as unknown as SchedulerApp;
    this.preemptions.set(this.status);
    if (this.preemptions.violations([victim], this.now).length > 0) return;
    this.disrupt("preemption", [name]);
    this.preemptions.spend(victim, this.now);
    this.unbind(name);
  }

  rollOut(): void {
    const planned = this.plan();
    // One that was not ready when the controller last heard of it costs nothing, and may have become ready since.
    const names = planned.actions.flatMap((action) =>
      (action.kind === "update" || action.kind === "delete") &&
        healthOf(action.app, this.set.spec, this.now).ready
        ? [action.app.metadata.name]
        : []
    );
    this.disrupt("rollout", names);
    this.reconcile(Infinity, planned);
  }
}

type Step =
  | { do: "rollOut" | "count" | "run" | "bind" | "finishEvictions" }
  | { do: "agent" | "see" | "evict" | "preempt"; which: number }
  | { do: "drain"; pods: boolean }
  | { do: "wait"; seconds: number }
  | { do: "edit"; script: string };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("rollOut" as const, "count" as const) }) },
  fc.record({ do: fc.constantFrom("run" as const, "bind" as const, "finishEvictions" as const) }),
  fc.record({
    do: fc.constantFrom("agent" as const, "see" as const, "evict" as const, "preempt" as const),
    which: fc.nat(apps - 1),
  }),
  fc.record({ do: fc.constant("drain" as const), pods: fc.boolean() }),
  fc.record({ do: fc.constant("wait" as const), seconds: fc.constantFrom(1, 5, 15) }),
  fc.record({ do: fc.constant("edit" as const), script: fc.constantFrom("/v1", "/v2", "/v3") }),
);

test("no disruption exceeds a budget by more than what others disrupted and its status does not show, and no drain its set's", () => {
  const given = fc.record({
    minAvailable: fc.integer({ min: 1, max: apps }),
    maxUnavailable: fc.integer({ min: 1, max: 4 }),
    steps: fc.array(step, { maxLength: 60, size: "max" }),
  });
  fc.assert(
    fc.property(given, ({ minAvailable, maxUnavailable, steps }) => {
      const world = new World(minAvailable, maxUnavailable);
      for (const step of steps) {
        const name = "which" in step ? [...world.apps.keys()][step.which] ?? "" : "";
        switch (step.do) {
          case "evict":
            if (world.ready.some(({ metadata }) => metadata.name === name)) world.evictPod(name);
            break;
          case "agent":
            world.agentStep(name);
            break;
          case "see":
            world.see(name);
            break;
          case "preempt":
            world.preempt(step.which);
            break;
          case "drain":
            world.drain(step.pods);
            break;
          case "edit":
            world.editApp({ shellFile: step.script });
            break;
          case "wait":
            // The controller of budgets is slow, but not as slow as that.
            world.count();
            world.now += step.seconds * 1000;
            break;
          default:
            world[step.do]();
        }
        world.settleDisruptions();
      }
    }),
    runs(300),
  );
});
