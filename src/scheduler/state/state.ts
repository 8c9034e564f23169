/**
 * What the scheduler knows about the cluster, from lists, watches and the answers to its own writes.
 *
 * `apps` holds the apps, `snapshot` the nodes with what is bound to them, `liveness` which nodes are alive, and `rules` the LimitRanges
 * and ResourceQuotas. `accounts` keeps the sums per node and per namespace equal to those of the known apps. There are no effects: the
 * listener decides what to do about a change.
 */
import type { V1Node } from "@kubernetes/client-node";
import { type Budget, covers, noticeMs } from "../../api/placement/placement.ts";
import type { Wire } from "../../kube/wire.ts";
import { steadyNow } from "../../lib/time.ts";
import { NamespaceRules } from "../namespaces/namespaces.ts";
import type { ClusterEvent, SchedulerApp } from "../types.ts";
import { Accounts } from "./accounts.ts";
import { Apps } from "./apps.ts";
import { Liveness } from "./liveness.ts";
import type { Clocks } from "../../kube/node-health.ts";
import { readNode } from "../../api/placement/placement.ts";
import type { SlimApp } from "./slim-app.ts";
import type { Snapshot } from "./snapshot.ts";

export { type HoldStep, mayHaveHoldStep, nextHoldStep, type NodePresence } from "./holding.ts";
export { type NodeLiveness } from "./liveness.ts";
export { isMovable, readApp } from "./read-app.ts";
export { slim, type SlimApp } from "./slim-app.ts";
export { Snapshot } from "./snapshot.ts";

export interface ClusterListener {
  /** An app of this scheduler has no node. `changed`: it is new, or its request has changed. */
  onWaiting(app: SchedulerApp, changed: boolean): void;
  /** An app no longer waits: it is bound, gone, or not placed by this scheduler. */
  onSettled(key: string): void;
  /** Something that may unblock waiting apps. `subject` is a node, a namespace or an app, depending on the event. */
  onEvent(event: ClusterEvent, subject: string): void;
}

export interface ClusterStateOptions {
  schedulerName: string;
  clocks: () => Clocks;
  nodeGraceMs?: number;
  steady?: () => number;
}

/** The PodDisruptionBudgets. They keep no app from anything here: preemption prefers victims that they allow. */
export class Budgets {
  readonly #byNamespace = new Map<string, Map<string, Budget>>();
  /** Apps that were preempted within `noticeMs`, by key: the status of their budgets may not show it yet. */
  readonly #spent = new Map<string, { app: SchedulerApp; at: number }>();

  set(budget: Budget): void {
    const known = this.#byNamespace.get(budget.namespace) ?? new Map<string, Budget>();
    this.#byNamespace.set(budget.namespace, known.set(budget.name, budget));
  }

  remove(namespace: string, name: string): void {
    const known = this.#byNamespace.get(namespace);
    if (known?.delete(name) && known.size === 0) this.#byNamespace.delete(namespace);
  }

  spend(app: SchedulerApp, now: number): void {
    this.#spent.set(app.key, { app, at: now });
  }

  /** Returns those of the apps, in their order, whose disruption the budgets do not allow if the others are disrupted before. */
  violations(apps: readonly SchedulerApp[], now: number): SchedulerApp[] {
    const left = new Map<Budget, number>();
    for (const [key, { at }] of this.#spent) if (Math.abs(now - at) >= noticeMs) this.#spent.delete(key);
    const spent = [...this.#spent.values()];
    const isCovered = (budget: Budget, { namespace, labels }: SchedulerApp) =>
      budget.namespace === namespace && covers(budget, labels);
    const allowed = (budget: Budget) =>
      budget.allowed - spent.filter(({ app }) => isCovered(budget, app)).length;
    return apps.filter((app) => {
      const covering = [...this.#byNamespace.get(app.namespace)?.values() ?? []]
        .filter((budget) => isCovered(budget, app));
      let isViolated = false;
      for (const budget of covering) {
        const rest = (left.get(budget) ?? allowed(budget)) - 1;
        left.set(budget, rest);
        if (rest < 0) isViolated = true;
      }
      return isViolated;
    });
  }
}

export class ClusterState {
  readonly accounts: Accounts;
  readonly apps: Apps;
  readonly liveness: Liveness;
  readonly rules: NamespaceRules;
  readonly budgets = new Budgets();
  /** Called for every app that is new or has changed. */
  onAppChanged: (app: SchedulerApp) => void = () => {};
  listener: ClusterListener = { onWaiting() {}, onSettled() {}, onEvent() {} };
  readonly #clocks: () => Clocks;
  readonly #steady: () => number;
  #appsListed = false;

  constructor({ schedulerName, clocks, nodeGraceMs, steady = steadyNow }: ClusterStateOptions) {
    this.#clocks = clocks;
    this.#steady = steady;
    const emit = (event: ClusterEvent, subject: string) => this.listener.onEvent(event, subject);
    this.accounts = new Accounts(emit);
    this.rules = new NamespaceRules(emit);
    this.apps = new Apps({
      schedulerName,
      accounts: this.accounts,
      steady,
      wall: () => clocks().wall,
      onWaiting: (app, changed) => this.listener.onWaiting(app, changed),
      onSettled: (key) => this.listener.onSettled(key),
      onChanged: (app) => this.onAppChanged(app),
    });
    this.liveness = new Liveness({
      snapshot: this.accounts.snapshot,
      clocks,
      nodeGraceMs,
      onBetter: (node) => emit("node", node),
      onReport: (node) => this.accounts.removeStopped(node),
    });
  }

  get snapshot(): Snapshot {
    return this.accounts.snapshot;
  }

  replaceApps(objects: SlimApp[], version: string, rewound = false): void {
    this.apps.replace(objects, version, rewound);
    if (this.#appsListed) return;
    this.#appsListed = true;
    // Leases may be listed first: then what their agents have promised was compared with no apps.
    this.snapshot.reapplyReports();
  }

  removeOverdue(): void {
    this.accounts.removeOverdue(this.#steady());
  }

  applyNode(object: Wire<V1Node>): void {
    const name = object.metadata?.name ?? "";
    const known = this.snapshot.node(name)?.properties.taints ?? [];
    const properties = readNode(object, known, this.#clocks().wall);
    if (this.snapshot.setNode(name, properties)) this.listener.onEvent("node", name);
  }
}
