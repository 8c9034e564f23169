/**
 * The apps of the cluster, and the node that each of them counts on.
 *
 * Guarantees: those of ObjectStore. An app that is assumed to be bound counts on its node until the API server shows it bound or the bind has failed.
 */
import type { V1PriorityClass } from "@kubernetes/client-node";
import { ObjectStore } from "../../kube/object-store.ts";
import type { Wire } from "../../kube/wire.ts";
import type { SchedulerApp } from "../types.ts";
import type { Accounts } from "./accounts.ts";
import { heldElsewhere } from "./holding.ts";
import { type PriorityRule, readPriorityClass, withPriority } from "./priority.ts";
import { readApp } from "./read-app.ts";
import { slim, type SlimApp } from "./slim-app.ts";

/** Time to stop beyond the grace period: the agent has to receive the change first, and to kill the app at the end. */
const stopMarginMs = 5000;

export interface AppsOptions {
  schedulerName: string;
  accounts: Accounts;
  steady: () => number;
  wall: () => number;
  /** This and `onSettled`: see ClusterListener. */
  onWaiting: (app: SchedulerApp, changed: boolean) => void;
  onSettled: (key: string) => void;
  /** An app is new or has changed. */
  onChanged: (app: SchedulerApp) => void;
}

export class Apps {
  readonly #options: AppsOptions;
  readonly #accounts: Accounts;
  readonly #store = new ObjectStore<SchedulerApp>({
    idOf: (app) => app,
    onChange: (app, before) => app ? this.#changed(app, before) : this.#gone(before!),
  });
  readonly #assumed = new Set<string>();
  /** Apps that count with more than before, other than by a bind of this scheduler. */
  readonly #grown = new Set<string>();
  readonly #classes = new Map<string, PriorityRule>();

  constructor(options: AppsOptions) {
    this.#options = options;
    this.#accounts = options.accounts;
  }

  get(key: string): SchedulerApp | undefined {
    return this.#store.get(key);
  }

  get size(): number {
    return this.#store.size;
  }

  [Symbol.iterator](): Iterator<SchedulerApp> {
    return this.#store.values()[Symbol.iterator]();
  }

  /** Applies an app from a list or a watch. */
  apply(object: SlimApp): void {
    this.#store.apply(this.#read(object));
  }

  /** Applies an app from the answer to a request. */
  applyAnswer(object: SlimApp): void {
    // As a list and a watch do: it also finds out whether the object is a mirror or a copy of one.
    this.#store.applyAnswer(this.#read(slim(object)));
  }

  /** The watch has shown that an app is gone. */
  remove(key: string, uid: string): void {
    this.#store.remove({ key, uid });
  }

  /** The answer to a request has shown that an app is gone. */
  forget(key: string, uid: string): void {
    this.#store.forget({ key, uid });
  }

  /** Applies a complete list: see ObjectStore. */
  replace(objects: SlimApp[], version: string, rewound: boolean): void {
    this.#store.replace(objects.map((object) => this.#read(object)), version, { rewound });
  }

  /** Returns the bound apps that, since the last call, count with more than before, other than by a bind of this scheduler. */
  takeGrown(): SchedulerApp[] {
    const keys = [...this.#grown];
    this.#grown.clear();
    return keys.map((key) => this.get(key)).filter((app) => app !== undefined && counts(app));
  }

  /** Counts an app as bound before the API server confirms it. `app` has the caps that it will have. */
  assume(app: SchedulerApp, nodeName: string): void {
    this.#assumed.add(app.key);
    this.#accounts.place({ ...app, nodeName }, nodeName);
  }

  /** Undoes `assume` after a failed bind; does nothing once the API server has shown the app bound. */
  forgetAssumed(key: string): void {
    if (!this.#assumed.delete(key)) return;
    const app = this.get(key);
    if (app) this.#count(app, undefined);
    else this.#accounts.remove(key);
  }

  applyPriorityClass(object: Wire<V1PriorityClass>): void {
    const rule = readPriorityClass(object);
    this.#classes.set(rule.name, rule);
    this.#reprioritize();
  }

  removePriorityClass(name: string): void {
    if (this.#classes.delete(name)) this.#reprioritize();
  }

  #read(object: SlimApp): SchedulerApp {
    const read = withPriority(readApp(object, this.#options.schedulerName), this.#classes);
    const before = this.get(read.key);
    return { ...read, boundAt: this.#boundAt(read, before), deletedAt: this.#deletedAt(read, before) };
  }

  #changed(app: SchedulerApp, before: SchedulerApp | undefined): void {
    // Until the API server has answered the bind, an app without a node still counts where it is assumed to be.
    if (!this.#assumed.has(app.key) || app.nodeName) {
      this.#assumed.delete(app.key);
      this.#count(app, before);
    }
    this.#report(app, before);
    this.#options.onChanged(app);
  }

  /** Of a bind that happened before the app was known, only the condition shows the time. */
  #boundAt(app: SchedulerApp, before: SchedulerApp | undefined): number | undefined {
    if (!app.nodeName) return undefined;
    if (before?.uid === app.uid) {
      return before.nodeName === app.nodeName ? before.boundAt : this.#options.wall();
    }
    const scheduled = app.status.conditions?.find(({ type }) => type === "Scheduled");
    return scheduled?.status === "True" && Date.parse(scheduled.lastTransitionTime ?? "") || app.createdAt;
  }

  /** The deletion's own time comes from the clock of the API server. */
  #deletedAt(app: SchedulerApp, before: SchedulerApp | undefined): number {
    if (!app.deleting) return 0;
    return before?.uid === app.uid && before.deleting ? before.deletedAt : this.#options.wall();
  }

  /** Counts the app on the node that it is bound to, and on the one that it may not have stopped on yet. */
  #count(app: SchedulerApp, before: SchedulerApp | undefined): void {
    const { snapshot } = this.#accounts;
    const node = snapshot.nodeOf(app.key);
    if (counts(app) && grew(node?.apps.get(app.key), app)) this.#grown.add(app.key);
    const holder = heldElsewhere(app);
    const letGo = before?.status.nodeName !== app.status.nodeName && app.status.nodeName !== undefined
      ? before?.status.nodeName
      : undefined;
    // It was bound, not only assumed to be. Its status does not matter: its agent may have started it without reporting that yet.
    const isLeaving = node !== undefined && before?.nodeName === node.name && app.nodeName !== node.name &&
      !before.finished;
    // When an app stops on a lost node is unknown, and the time to wait for it has already passed.
    if (holder) this.#accounts.hold(app, holder);
    else if (isLeaving && node.name !== letGo && node.agent === "fresh" && node.index >= 0) {
      this.#accounts.markLeaving(before, node.name, this.#options.steady() + before.graceMs + stopMarginMs);
    }
    const left = snapshot.nodeOf(app.key, "leaving")?.name;
    if (left !== undefined && left !== holder && (left === app.nodeName || left === letGo)) {
      this.#accounts.removeLeaving(app.key);
    }
    if (counts(app)) this.#accounts.place(app, app.nodeName);
    else this.#accounts.remove(app.key);
  }

  #report(app: SchedulerApp, before: SchedulerApp | undefined): void {
    const { onWaiting, onSettled } = this.#options;
    const { snapshot } = this.#accounts;
    if (app.nodeName || !app.ours || app.deleting) {
      snapshot.nominate(app, undefined);
      return onSettled(app.key);
    }
    const changed = !before || requestChanged(before, app);
    // Capacity that was freed for it, perhaps by an earlier scheduler, is kept for what it requests now.
    const nominated = snapshot.nominatedNode(app.key)?.name ?? app.status.nominatedNodeName;
    if (changed && nominated) snapshot.nominate(app, nominated);
    onWaiting(app, changed);
  }

  #gone(app: SchedulerApp): void {
    this.#assumed.delete(app.key);
    this.#grown.delete(app.key);
    this.#accounts.snapshot.nominate(app, undefined);
    this.#accounts.remove(app.key);
    this.#accounts.removeLeaving(app.key);
    this.#options.onSettled(app.key);
  }

  #reprioritize(): void {
    for (const before of [...this]) {
      const app = withPriority(before, this.#classes);
      if (!priorityChanged(before, app)) continue;
      this.#store.revise(app);
      const node = this.#accounts.snapshot.nodeOf(app.key);
      if (node) this.#accounts.place({ ...node.apps.get(app.key)!, priority: app.priority }, node.name);
      this.#report(app, before);
    }
  }
}

/** Reports whether the app counts on its node and in its namespace. */
function counts(app: SchedulerApp): app is SchedulerApp & { nodeName: string } {
  return app.nodeName !== undefined && !app.finished;
}

/** Without a cap an app counts as 0, but may use everything. */
function grew(before: SchedulerApp | undefined, { cpu, mem }: SchedulerApp): boolean {
  if (!before) return true;
  return cpu !== before.cpu && (cpu > before.cpu || cpu === 0) ||
    mem !== before.mem && (mem > before.mem || mem === 0);
}

function requestChanged(before: SchedulerApp, app: SchedulerApp): boolean {
  return before.uid !== app.uid || before.generation !== app.generation || before.nodeName !== undefined ||
    priorityChanged(before, app);
}

function priorityChanged(before: SchedulerApp, app: SchedulerApp): boolean {
  return before.priority !== app.priority || before.preempts !== app.preempts ||
    before.missingClass !== app.missingClass;
}
