/**
 * All that the scheduler knows of the cluster, from lists, watches and the answers to its own writes.
 *
 * Guarantees: news that are older than what is known change nothing, and no answer to an own write brings back what is gone; an app
 * that was assumed to be bound counts on its node until the API server shows it bound, or the bind has failed; sums per node and per
 * namespace are those of the apps that are known. No effects: whoever listens decides what to do.
 */
import type { V1LimitRange, V1Node, V1PriorityClass, V1ResourceQuota } from "@kubernetes/client-node";
import { keyOf } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import type { Wire } from "../../kube/wire.ts";
import { steadyNow } from "../../lib/time.ts";
import { Accounts } from "./accounts.ts";
import { readApp } from "./read-app.ts";
import type { ClusterEvent, SchedulerApp } from "../types.ts";
import { Liveness } from "./liveness.ts";
import { NamespaceRules } from "../namespaces/namespaces.ts";
import { readNode } from "./read-node.ts";
import type { Clocks } from "./node-health.ts";
import { type PriorityRule, readPriorityClass, withPriority } from "./priority.ts";
import { isLater } from "../../kube/resource-version.ts";
import type { Snapshot } from "./snapshot.ts";

export { isMovable } from "./read-app.ts";
export { isAgentLease, type NodeLiveness } from "./liveness.ts";
export type { Snapshot } from "./snapshot.ts";

/** Beyond its grace period, until an app has stopped: its agent has to hear of it first, and in the end to kill it. */
const stopMarginMs = 5000;

/** Who is told what happens. */
export interface ClusterListener {
  /** An app of this scheduler has no node. `changed`: it is new, or asks for something else than before. */
  waits(app: SchedulerApp, changed: boolean): void;
  /** It does not wait any more: it is bound, gone, or somebody else's. */
  settled(key: string): void;
  /** Something that may help apps that wait; `subject` is a node, a namespace or an app, by the event. */
  happened(event: ClusterEvent, subject: string): void;
}

export interface ClusterStateOptions {
  schedulerName: string;
  clocks: () => Clocks;
  /** How long a node may be silent; undefined: as long as its Lease lasts. */
  nodeGraceMs?: number;
  /** For waits: a clock that is never set. */
  steady?: () => number;
}

export class ClusterState {
  readonly accounts: Accounts;
  readonly rules = new NamespaceRules();
  readonly liveness: Liveness;
  listener: ClusterListener = { waits() {}, settled() {}, happened() {} };
  readonly #schedulerName: string;
  readonly #clocks: () => Clocks;
  readonly #apps = new Map<string, SchedulerApp>();
  readonly #assumed = new Set<string>();
  readonly #classes = new Map<string, PriorityRule>();
  readonly #steady: () => number;
  #listed = false;

  constructor({ schedulerName, clocks, nodeGraceMs, steady = steadyNow }: ClusterStateOptions) {
    this.#schedulerName = schedulerName;
    this.#clocks = clocks;
    this.#steady = steady;
    const happened = (event: ClusterEvent, subject: string) => this.listener.happened(event, subject);
    this.accounts = new Accounts(happened);
    this.liveness = new Liveness({
      snapshot: this.accounts.snapshot,
      clocks,
      nodeGraceMs,
      onBetter: (node) => happened("node", node),
      onReport: (node) => this.accounts.releaseStopped(node),
    });
  }

  get snapshot(): Snapshot {
    return this.accounts.snapshot;
  }

  app(key: string): SchedulerApp | undefined {
    return this.#apps.get(key);
  }

  get apps(): Iterable<SchedulerApp> {
    return this.#apps.values();
  }

  get appCount(): number {
    return this.#apps.size;
  }

  /** Takes over an app as the API server has it. */
  applyApp(object: NCApp): void {
    const { uid, resourceVersion = "" } = object.metadata;
    const before = this.#apps.get(keyOf(object));
    // Among others the watch's echo of every bind, whose answer was quicker.
    if (before && before.uid === uid && !isLater(resourceVersion, before.resourceVersion)) return;
    this.#takeOver(object);
  }

  /**
   * Takes over what the API server answered to a request about an app. The watch may have been quicker: with newer news, with the
   * app's end, or with another app of its name.
   */
  applyAnswer(object: NCApp): void {
    const { resourceVersion = "" } = object.metadata;
    const known = this.#apps.get(keyOf(object));
    if (known && isLater(resourceVersion, known.resourceVersion)) this.#takeOver(object);
  }

  #takeOver(object: NCApp): void {
    const before = this.#apps.get(keyOf(object));
    const next = withPriority(readApp(object, this.#schedulerName), this.#classes);
    if (before && before.uid !== next.uid) this.#forget(before);
    this.#apps.set(next.key, next);
    // Seen before the API server answered the bind: what was assumed still counts.
    if (!this.#assumed.has(next.key) || next.nodeName) {
      this.#assumed.delete(next.key);
      this.#settle(next, before);
    }
    this.#tell(next, before);
  }

  /** The app is certainly gone; the uid keeps one that was created again under its name. */
  removeApp(key: string, uid: string): void {
    const app = this.#apps.get(key);
    if (app?.uid === uid) this.#forget(app);
  }

  /**
   * Takes over a whole list: whoever is not in it is gone. `rewound`: the server has gone back in time, as with a restored etcd, so that
   * a lower version says nothing and the list is the truth.
   */
  replaceApps(objects: NCApp[], { rewound = false } = {}): void {
    const listed = new Set(objects.map(({ metadata }) => metadata.uid));
    for (const app of [...this.#apps.values()]) if (!listed.has(app.uid)) this.#forget(app);
    for (const object of objects) {
      if (rewound) this.#takeOver(object);
      else this.applyApp(object);
    }
    if (this.#listed) return;
    this.#listed = true;
    // Leases may come first: what their agents have promised was held against no app at all then.
    this.snapshot.reapplyReports();
  }

  /** Lets go of what apps held on nodes that they left, once they must have stopped. */
  releaseOverdue(): void {
    this.accounts.releaseOverdue(this.#steady());
  }

  /** Counts an app as bound before the API server says so. `app` has the caps that it will have. */
  assume(app: SchedulerApp, nodeName: string): void {
    this.#assumed.add(app.key);
    this.accounts.put({ ...app, nodeName }, nodeName);
  }

  /** The bind did not come about. */
  forgetAssumed(key: string): void {
    if (!this.#assumed.delete(key)) return;
    const app = this.#apps.get(key);
    if (app) this.#settle(app, undefined);
    else this.accounts.take(key);
  }

  applyNode(object: Wire<V1Node>): void {
    const name = object.metadata?.name ?? "";
    const known = this.snapshot.node(name)?.facts.taints ?? [];
    const facts = readNode(object, known, this.#clocks().wall);
    if (this.snapshot.setNode(name, facts)) this.listener.happened("node", name);
  }

  removeNode(name: string): void {
    this.snapshot.removeNode(name);
  }

  replaceNodes(objects: Wire<V1Node>[]): void {
    const listed = new Set(objects.map(({ metadata }) => metadata?.name));
    for (const { name } of [...this.snapshot.nodes]) if (!listed.has(name)) this.removeNode(name);
    for (const object of objects) this.applyNode(object);
  }

  applyPriorityClass(object: Wire<V1PriorityClass>): void {
    const rule = readPriorityClass(object);
    this.#classes.set(rule.name, rule);
    this.#reprioritize();
  }

  removePriorityClass(name: string): void {
    if (this.#classes.delete(name)) this.#reprioritize();
  }

  applyLimitRange(object: Wire<V1LimitRange>): void {
    this.rules.setLimitRange(object);
    this.listener.happened("limitRange", object.metadata?.namespace ?? "");
  }

  removeLimitRange(object: Wire<V1LimitRange>): void {
    this.rules.removeLimitRange(object);
    this.listener.happened("limitRange", object.metadata?.namespace ?? "");
  }

  applyQuota(object: Wire<V1ResourceQuota>): void {
    if (this.rules.setQuota(object)) this.listener.happened("quota", object.metadata?.namespace ?? "");
  }

  removeQuota(object: Wire<V1ResourceQuota>): void {
    this.rules.removeQuota(object);
    this.listener.happened("quota", object.metadata?.namespace ?? "");
  }

  /** Counts the app where it is bound to, and nowhere else. */
  #settle(next: SchedulerApp, before: SchedulerApp | undefined): void {
    const node = this.snapshot.placeOf(next.key);
    // Bound, not only assumed to be. Whatever its status says: its agent may have started it and not have said so yet.
    const leaves = node !== undefined && before?.nodeName === node.name && next.nodeName !== node.name &&
      !before.finished;
    // On a node that is lost nobody knows when it stops; the time to wait for that is over.
    if (leaves && node.agent === "fresh" && node.index >= 0) {
      this.accounts.hold(before, node.name, this.#steady() + before.graceMs + stopMarginMs);
    }
    if (next.nodeName !== undefined && next.nodeName === this.snapshot.leavingFrom(next.key)?.name) {
      this.accounts.left(next.key);
    }
    if (next.nodeName && !next.finished) this.accounts.put(next, next.nodeName);
    else this.accounts.take(next.key);
  }

  #tell(next: SchedulerApp, before: SchedulerApp | undefined): void {
    if (next.nodeName || !next.ours || next.deleting) {
      this.snapshot.nominate(next, undefined);
      return this.listener.settled(next.key);
    }
    const changed = !before || asksOtherwise(before, next);
    // What was made room for, perhaps by an earlier scheduler, and what it needs now.
    const nominated = this.snapshot.nominatedNode(next.key)?.name ?? next.status.nominatedNodeName;
    if (changed && nominated) this.snapshot.nominate(next, nominated);
    this.listener.waits(next, changed);
  }

  #forget(app: SchedulerApp): void {
    this.#apps.delete(app.key);
    this.#assumed.delete(app.key);
    this.snapshot.nominate(app, undefined);
    this.accounts.take(app.key);
    this.accounts.left(app.key);
    this.listener.settled(app.key);
  }

  #reprioritize(): void {
    for (const app of [...this.#apps.values()]) {
      const next = withPriority(app, this.#classes);
      if (next.priority === app.priority && next.missingClass === app.missingClass) continue;
      this.#apps.set(app.key, next);
      const placed = this.snapshot.placeOf(app.key);
      if (placed) this.accounts.put({ ...placed.apps.get(app.key)!, priority: next.priority }, placed.name);
      this.#tell(next, app);
    }
  }
}

function asksOtherwise(before: SchedulerApp, next: SchedulerApp): boolean {
  return before.uid !== next.uid || before.generation !== next.generation || before.nodeName !== undefined ||
    before.priority !== next.priority || before.missingClass !== next.missingClass;
}
