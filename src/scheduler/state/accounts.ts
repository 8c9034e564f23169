/**
 * Which app counts where: on its node in the snapshot, and in its namespace in the ledger. One place changes both, so that they cannot
 * drift apart.
 */
import type { ClusterEvent, SchedulerApp } from "../types.ts";
import { NamespaceUsage } from "./ledger.ts";
import type { NodeEntry } from "../node-entry.ts";
import { Snapshot } from "./snapshot.ts";

export class Accounts {
  readonly snapshot = new Snapshot();
  readonly usage = new NamespaceUsage();
  readonly #happened: (event: ClusterEvent, subject: string) => void;
  /** When apps that are leaving have stopped at the latest. */
  readonly #holds = new Map<string, number>();

  constructor(happened: (event: ClusterEvent, subject: string) => void) {
    this.#happened = happened;
  }

  /** Counts an app on a node, and nowhere else. */
  put(app: SchedulerApp, nodeName: string): void {
    const old = this.snapshot.placeOf(app.key);
    const had = old?.apps.get(app.key);
    if (had) this.usage.subtract(had);
    this.snapshot.place(app, nodeName);
    this.usage.add(app);
    if (old && had && (old.name !== nodeName || shrank(had, app))) this.#freed(app.namespace, old.name);
  }

  /** Counts an app nowhere. */
  take(key: string): void {
    const had = this.snapshot.placeOf(key)?.apps.get(key);
    const node = this.snapshot.displace(key);
    if (!had || !node) return;
    this.usage.subtract(had);
    this.#freed(had.namespace, node.name);
  }

  /** Takes an app off its node, but keeps what it had there until it has certainly stopped: at `until` at the latest. */
  hold(app: SchedulerApp, nodeName: string, until: number): void {
    this.take(app.key);
    this.snapshot.hold(app, nodeName);
    this.#holds.set(app.key, until);
  }

  /** The app has stopped on the node that it left. */
  left(key: string): void {
    this.#holds.delete(key);
    const node = this.snapshot.release(key);
    if (!node) return;
    this.#happened("capacity", node.name);
    this.#happened("left", key);
  }

  /** Lets go of what apps held that must have stopped by now. */
  releaseOverdue(now: number): void {
    for (const [key, until] of this.#holds) if (until <= now) this.left(key);
  }

  /** The node's agent has said something: perhaps that it has no more of what was leaving. */
  releaseStopped(node: NodeEntry): void {
    for (const { key } of node.stoppedApps()) this.left(key);
  }

  #freed(namespace: string, nodeName: string): void {
    this.#happened("capacity", nodeName);
    this.#happened("quota", namespace);
  }
}

function shrank(before: SchedulerApp, after: SchedulerApp): boolean {
  return after.cpu < before.cpu || after.mem < before.mem ||
    before.ports.some((port) => !after.ports.includes(port));
}
