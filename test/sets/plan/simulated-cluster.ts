/**
 * A cluster in memory for the planner: objects with versions and generations, agents that run what the specs say, and a controller
 * with a view of its own, which lags behind unless it wrote the change itself. It can be killed after any write.
 */
import { isDeepStrictEqual } from "node:util";
import { apiVersion, kind, setAnnotations, setKind } from "../../../src/api/names.ts";
import { setSpec } from "../../../src/api/schema/schema.ts";
import { withDefaults } from "../../../src/api/validate/validate.ts";
import type { NCAppSetSpec, NCAppStatus } from "../../../src/api/types.ts";
import { applyMergePatch } from "../../../src/lib/objects.ts";
import { isoSeconds } from "../../../src/lib/time.ts";
import { healthOf } from "../../../src/sets/plan/health.ts";
import { isOwn, ownerOf, plan } from "../../../src/sets/plan/plan.ts";
import type { Action, App, AppSet, Node, Plan, Revision, World } from "../../../src/sets/types.ts";
import { setSpecWith } from "../../api/set-samples.ts";

/** What the script of a version does on every node. */
export type Version = "good" | "bad" | "hung";

export class SimulatedCluster {
  now = Date.parse("2026-01-01T00:00:00Z");
  set: AppSet;
  apps = new Map<string, App>();
  nodes = new Map<string, Node>();
  revisions = new Map<string, Revision>();
  /** What runs on a node, by the name of the app: the shellFile of its process. */
  running = new Map<string, string>();
  /** The controller's view of apps. */
  view = new Map<string, App>();
  /** The PodDisruptionBudgets of the namespace, as the controller counts them. */
  budgets: () => World["budgets"] = () => [];
  /** Everything that the controller did. */
  log: Action[] = [];
  #version = 1;

  constructor({ nodes = 5, spec = {} }: { nodes?: number; spec?: Partial<NCAppSetSpec> } = {}) {
    this.set = {
      apiVersion,
      kind: setKind,
      metadata: { namespace: "default", name: "web", uid: "set-1", resourceVersion: "1", generation: 1 },
      spec: withDefaults(setSpec, setSpecWith({ minReadySeconds: 0, ...spec })) as NCAppSetSpec,
    };
    for (let at = 0; at < nodes; at++) this.join(`n${at}`);
  }

  get now10(): string {
    return new Date(this.now).toISOString();
  }

  join(name: string, labels: Record<string, string> = {}): void {
    const properties = { labels, taints: [], ready: true, cordoned: false, pressures: [] };
    this.nodes.set(name, { name, properties, agent: "fresh" });
  }

  changeNode(name: string, change: Partial<Node["properties"]> & { agent?: Node["agent"] }): void {
    const node = this.nodes.get(name);
    if (!node) return;
    const { agent = node.agent, ...properties } = change;
    this.nodes.set(name, { ...node, agent, properties: { ...node.properties, ...properties } });
  }

  /** A node that is gone takes its processes with it; its apps are collected when they are deleted. */
  leave(name: string): void {
    this.nodes.delete(name);
  }

  edit(change: (spec: NCAppSetSpec) => NCAppSetSpec): void {
    const generation = (this.set.metadata.generation ?? 0) + 1;
    const spec = withDefaults(setSpec, change(structuredClone(this.set.spec))) as NCAppSetSpec;
    this.set = { ...this.set, metadata: { ...this.set.metadata, generation }, spec };
  }

  editApp(fields: object): void {
    this.edit((spec) => ({
      ...spec,
      template: { ...spec.template, spec: { ...spec.template.spec, ...fields } },
    }));
  }

  promote(): void {
    const promoted = this.set.status?.updateRevision ?? "";
    const { metadata } = this.set;
    this.set = {
      ...this.set,
      metadata: { ...metadata, annotations: { [setAnnotations.promote]: promoted } },
    };
  }

  addForeign(name: string, labels: Record<string, string>): void {
    const taken = this.apps.has(name);
    if (!taken) this.#store(this.#newApp(name, labels, {}, {}));
  }

  deleteApp(name: string): void {
    const app = this.apps.get(name);
    if (!app || app.metadata.deletionTimestamp) return;
    this.#store({
      ...app,
      metadata: {
        ...app.metadata,
        deletionTimestamp: this.now10,
        generation: (app.metadata.generation ?? 0) + 1,
      },
    });
  }

  /** What is true now, not what the controller sees. */
  isAvailable(app: App): boolean {
    return !this.isLost(app) && healthOf(app, this.set.spec, this.now).available;
  }

  isLost(app: App): boolean {
    return this.nodes.get(app.spec.nodeName ?? "")?.agent === "lost";
  }

  get own(): App[] {
    return [...this.apps.values()].filter((app) => isOwn(app, this.set.metadata.uid));
  }

  /** The agent of one app acts once: stops, starts, reports. */
  agentStep(name: string): void {
    const app = this.apps.get(name);
    if (!app) return;
    const node = this.nodes.get(app.spec.nodeName ?? "");
    if (node?.agent === "lost") return;
    if (app.metadata.deletionTimestamp) {
      this.running.delete(name);
      return void this.apps.delete(name);
    }
    if (!node) return;
    const { generation = 0, annotations = {} } = app.metadata;
    const script = app.spec.shellFile ?? "";
    const restart = annotations["app.example.com/restartedAt"];
    const process = [script, ...app.spec.args ?? [], restart].join(" ");
    const isSame = this.running.get(name) === process;
    const report = (status: NCAppStatus) => {
      const before = app.status?.conditions?.[0];
      const state = status.ready ? "True" : "False";
      const lastTransitionTime = before?.status === state ? before.lastTransitionTime : isoSeconds(this.now);
      const conditions = [{ type: "Ready", status: state, lastTransitionTime } as const];
      const seen = { observedGeneration: generation, ...(restart ? { observedRestartedAt: restart } : {}) };
      this.#store({ ...app, status: { ...seen, conditions, ...status } });
    };
    if (!isSame) {
      this.running.set(name, process);
      return report({ phase: "Starting", ready: false });
    }
    if (script.includes("bad")) return report({ phase: "BackOff", ready: false, reason: "Error" });
    if (script.includes("hung")) return report({ phase: "Starting", ready: false });
    report({ phase: "Running", ready: true });
  }

  /** An agent or a scheduler writes the status of an app. */
  report(name: string, status: NCAppStatus): void {
    const app = this.apps.get(name);
    if (app) this.#store({ ...app, status });
  }

  /** Someone binds, unbinds or changes an app. */
  change(name: string, spec: App["spec"]): void {
    const app = this.apps.get(name);
    if (!app) return;
    const metadata = { ...app.metadata, generation: (app.metadata.generation ?? 0) + 1 };
    this.#store({ ...app, metadata, spec });
  }

  /** A scheduler binds the apps that have no node: each to the next one that is alive. */
  bind(): void {
    const alive = [...this.nodes.values()].filter(({ agent }) => agent === "fresh");
    const waiting = this.own.filter(({ spec, metadata }) => !spec.nodeName && !metadata.deletionTimestamp);
    for (const [at, { metadata, spec }] of alive.length > 0 ? waiting.entries() : []) {
      this.change(metadata.name, { ...spec, nodeName: alive[at % alive.length]!.name });
    }
  }

  /** The watch brings the newest version of an app to the controller. */
  see(name: string): void {
    const app = this.apps.get(name);
    if (app) this.view.set(name, app);
    else this.view.delete(name);
  }

  /** A new controller lists everything. */
  restartController(): void {
    this.view = new Map(this.apps);
  }

  plan(): Plan {
    return plan(this.world());
  }

  /** What the controller knows. */
  world(): World {
    return {
      set: this.set,
      apps: [...this.view.values()],
      appNamed: (name) => this.view.get(name),
      nodes: this.nodes,
      revisions: [...this.revisions.values()].filter((revision) => isOwn(revision, this.set.metadata.uid)),
      revisionNamed: (name) => this.revisions.get(name),
      budgets: this.budgets(),
      now: this.now,
    };
  }

  /** Plans and performs; a controller that is killed performs only the first `limit` writes, of which the status is the first. */
  reconcile(limit = Infinity, planned = this.plan()): Plan {
    if (limit < 1) return planned;
    this.set = { ...this.set, status: planned.status };
    for (const action of planned.actions.slice(0, limit - 1)) this.#perform(action);
    return planned;
  }

  /** Lets everything happen until nothing changes any more. */
  settle(rounds = 400): void {
    for (let round = 0; round < rounds; round++) {
      for (const name of [...this.apps.keys(), ...this.view.keys()]) {
        this.agentStep(name);
        this.see(name);
      }
      const before = JSON.stringify([...this.apps.values()].map(({ status }) => status));
      const { actions, checkAt } = this.reconcile();
      for (const name of [...this.apps.keys()]) this.agentStep(name), this.see(name);
      const after = JSON.stringify([...this.apps.values()].map(({ status }) => status));
      if (actions.length > 0 || before !== after) continue;
      if (checkAt === undefined) return;
      this.now = Math.max(this.now + 1, checkAt);
    }
    throw new Error(`not settled after ${rounds} rounds`);
  }

  #perform(action: Action): void {
    this.log.push(action);
    switch (action.kind) {
      case "createRevision": {
        const { name, hash, revision, data } = action;
        const labels = { "app.example.com/revision": hash };
        const metadata = { ...this.#meta(name), labels, ownerReferences: [ownerOf(this.set)] };
        return void this.revisions.set(name, { metadata, revision, data });
      }
      case "renumberRevision": {
        const { metadata } = action.revision;
        return void this.revisions.set(metadata.name, { ...action.revision, revision: action.number });
      }
      case "deleteRevision":
        return void this.revisions.delete(action.revision.metadata.name);
      case "adoptRevision": {
        const { metadata } = action.revision;
        const owned = { ...metadata, ownerReferences: [ownerOf(this.set)] };
        return void this.revisions.set(metadata.name, { ...action.revision, metadata: owned });
      }
      case "deleteSet":
        this.set = { ...this.set, metadata: { ...this.set.metadata, deletionTimestamp: this.now10 } };
        return;
      case "create": {
        const { name, labels, annotations, spec } = action.app;
        if (this.apps.has(name)) return this.see(name);
        const app = this.#newApp(name, labels, annotations, spec);
        this.#store({ ...app, metadata: { ...app.metadata, ownerReferences: [ownerOf(this.set)] } });
        return this.see(name);
      }
    }
    const { name, uid, resourceVersion } = action.app.metadata;
    const app = this.apps.get(name);
    // The preconditions of the write.
    const seen = ({ metadata: { uid, generation, labels, annotations } }: App) => [
      ...[uid, generation, labels, annotations],
    ];
    const isOutdated = app?.metadata.uid !== uid ||
      (action.kind === "update" || action.kind === "run"
        ? !isDeepStrictEqual(seen(app), seen(action.app))
        : app.metadata.resourceVersion !== resourceVersion);
    if (isOutdated) return this.see(name);
    if (action.kind === "delete") this.deleteApp(name);
    else if (action.kind === "update" || action.kind === "run") {
      const next = applyMergePatch(app, action.patch) as App;
      const isChanged = JSON.stringify(next.spec) !== JSON.stringify(app.spec);
      const generation = (app.metadata.generation ?? 0) + (isChanged ? 1 : 0);
      this.#store({ ...next, metadata: { ...next.metadata, generation } });
    } else {
      const ownerReferences = action.kind === "adopt" ? [ownerOf(this.set)] : [];
      this.#store({ ...app, metadata: { ...app.metadata, ownerReferences } });
    }
    this.see(name);
  }

  #newApp(
    name: string,
    labels: Record<string, string>,
    annotations: Record<string, string>,
    spec: App["spec"],
  ): App {
    const metadata = { ...this.#meta(name), labels, annotations, generation: 1 };
    return { apiVersion, kind, metadata, spec };
  }

  #meta(name: string) {
    const resourceVersion = String(++this.#version);
    const uid = `uid-${resourceVersion}`;
    return { namespace: "default", name, uid, resourceVersion, creationTimestamp: this.now10 };
  }

  #store(app: App): void {
    const resourceVersion = String(++this.#version);
    this.apps.set(app.metadata.name, { ...app, metadata: { ...app.metadata, resourceVersion } });
  }
}
