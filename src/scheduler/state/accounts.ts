/**
 * Which app counts where: on its node in the snapshot, and in the usage of its namespace. Only this class changes both, so that they
 * cannot diverge.
 */
import type { Points } from "../namespaces/namespaces.ts";
import type { NodeEntry } from "../node-entry.ts";
import type { ClusterEvent, SchedulerApp } from "../types.ts";
import { Snapshot } from "./snapshot.ts";

export class Accounts {
  readonly snapshot = new Snapshot();
  readonly usage = new NamespaceUsage();
  readonly #emit: (event: ClusterEvent, subject: string) => void;
  /** When each leaving app has stopped at the latest. A held app has no such time: its agent reports when it has stopped. */
  readonly #deadlines = new Map<string, number>();

  constructor(emit: (event: ClusterEvent, subject: string) => void) {
    this.#emit = emit;
  }

  /** Counts an app on a node, and on no other. */
  place(app: SchedulerApp, nodeName: string): void {
    const before = this.snapshot.nodeOf(app.key);
    const placed = before?.apps.get(app.key);
    if (placed) this.usage.count(placed, -1);
    this.snapshot.place(app, nodeName);
    this.usage.count(app, 1);
    if (before?.name !== nodeName) this.#emitMoved(app.namespace);
    if (before && placed && (before.name !== nodeName || shrank(placed, app))) {
      this.#emitFreed(app.namespace, before.name);
    }
  }

  remove(key: string): void {
    const placed = this.snapshot.nodeOf(key)?.apps.get(key);
    const node = this.snapshot.remove(key);
    if (!placed || !node) return;
    this.usage.count(placed, -1);
    this.#emitMoved(placed.namespace);
    this.#emitFreed(placed.namespace, node.name);
  }

  /** Moves an app from a node's bound apps to its leaving apps: its share stays used until it has stopped, at `until` at the latest. */
  markLeaving(app: SchedulerApp, nodeName: string, until: number): void {
    this.remove(app.key);
    this.snapshot.place(app, nodeName, "leaving");
    this.#deadlines.set(app.key, until);
  }

  /** Counts an app as leaving a node until the node's agent lets it go; its share is the one that it had there, if that is known. */
  hold(app: SchedulerApp, nodeName: string): void {
    this.#deadlines.delete(app.key);
    if (this.snapshot.nodeOf(app.key, "leaving")?.name === nodeName) return;
    const had = this.snapshot.node(nodeName)?.apps.get(app.key) ?? app;
    this.removeLeaving(app.key);
    this.snapshot.place(had, nodeName, "leaving");
  }

  removeLeaving(key: string): void {
    this.#deadlines.delete(key);
    const node = this.snapshot.remove(key, "leaving");
    if (!node) return;
    this.#emit("capacity", node.name);
    this.#emit("stopped", key);
  }

  /** Frees the shares of leaving apps that must have stopped by now. */
  removeOverdue(now: number): void {
    for (const [key, until] of this.#deadlines) if (until <= now) this.removeLeaving(key);
  }

  /** Frees the shares of leaving apps that have stopped according to the agent's last report. */
  removeStopped(node: NodeEntry): void {
    for (const { key } of node.stoppedApps()) if (this.#deadlines.has(key)) this.removeLeaving(key);
  }

  #emitMoved(namespace: string): void {
    if (this.snapshot.spread.hasRules) this.#emit("apps", namespace);
  }

  #emitFreed(namespace: string, nodeName: string): void {
    this.#emit("capacity", nodeName);
    this.#emit("quota", namespace);
  }
}

/** The points of each namespace's bound apps, updated as apps come and go. */
class NamespaceUsage {
  readonly #sums = new Map<string, Points & { apps: number }>();

  of(namespace: string): Points {
    const { cpu, mem } = this.#sums.get(namespace) ?? { cpu: 0, mem: 0 };
    return { cpu, mem };
  }

  /** `sign` is -1 for an app that counts no more. */
  count({ namespace, cpu, mem }: SchedulerApp, sign: 1 | -1): void {
    const before = this.#sums.get(namespace) ?? { cpu: 0, mem: 0, apps: 0 };
    const sum = { cpu: before.cpu + sign * cpu, mem: before.mem + sign * mem, apps: before.apps + sign };
    if (sum.apps === 0) this.#sums.delete(namespace);
    else this.#sums.set(namespace, sum);
  }
}

function shrank(before: SchedulerApp, after: SchedulerApp): boolean {
  return after.cpu < before.cpu || after.mem < before.mem ||
    before.ports.some((port) => !after.ports.includes(port));
}
