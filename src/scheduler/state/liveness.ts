/** Which nodes are alive, by the Leases of their agents. Updates the snapshot as time passes. */
import { nodeOfLease } from "../../api/names.ts";
import type { Lease } from "../../kube/lease.ts";
import { readReport } from "./read-node.ts";
import { type Clocks, type NodeHealth, NodeLeases } from "../../kube/node-health.ts";
import type { NodeEntry } from "../node-entry.ts";
import type { Snapshot } from "./snapshot.ts";

export interface NodeLiveness {
  node: NodeEntry;
  /** Undefined if it never had an agent. */
  health: NodeHealth | undefined;
  /** Its Lease was deleted and not created again. */
  leaseGone?: boolean;
}

export interface LivenessOptions {
  snapshot: Snapshot;
  clocks: () => Clocks;
  nodeGraceMs?: number;
  /** Called when a node may accept apps that it refused before. */
  onBetter: (node: string) => void;
  /** Called when an agent reports on a node with leaving apps. */
  onReport: (node: NodeEntry) => void;
}

export class Liveness {
  readonly #options: LivenessOptions;
  readonly #leases: NodeLeases;
  readonly #deleted = new Set<string>();

  constructor(options: LivenessOptions) {
    this.#options = options;
    this.#leases = new NodeLeases(options.clocks, options.nodeGraceMs);
  }

  applyLease(lease: Lease): void {
    const { snapshot, clocks, onBetter, onReport } = this.#options;
    const name = nodeOfLease(lease);
    this.#deleted.delete(name);
    const isRenewed = this.#leases.apply(name, lease);
    this.#setHealth(name, this.#leases.health(name));
    const report = readReport(lease, clocks().wall);
    if (report && snapshot.setReport(name, report)) onBetter(name);
    const node = snapshot.node(name);
    // A Lease that is listed again may be older than an app that was bound and unbound since.
    if (report && isRenewed && node && node.leaving.size > 0) onReport(node);
  }

  /** Marks a Lease as deleted. It is kept while apps are bound to its node, so that the node counts as silent. */
  removeLease(lease: Lease): void {
    this.#deleted.add(nodeOfLease(lease));
  }

  replaceLeases(leases: Lease[]): void {
    const listed = new Set(leases.map(nodeOfLease));
    for (const name of this.#leases.nodes) if (!listed.has(name)) this.#deleted.add(name);
    for (const lease of leases) this.applyLease(lease);
  }

  /** Updates and returns the health of every node; called once a second. */
  check(): NodeLiveness[] {
    const found: NodeLiveness[] = [];
    for (const node of [...this.#options.snapshot.entries()]) {
      const isUsed = node.apps.size + node.leaving.size > 0;
      if (!isUsed && this.#deleted.delete(node.name)) this.#leases.delete(node.name);
      // Apps are bound to a node that does not exist: treat it as a node that has just become silent.
      if (node.index < 0 && isUsed && !this.#leases.health(node.name)) {
        this.#leases.vanish(node.name);
        this.#deleted.add(node.name);
      }
      const health = this.#leases.health(node.name);
      this.#setHealth(node.name, health);
      found.push({ node, health, leaseGone: this.#deleted.has(node.name) });
    }
    return found;
  }

  #setHealth(name: string, health: NodeHealth | undefined): void {
    const { snapshot, onBetter } = this.#options;
    const state = health === undefined ? "none" : health.state === "fresh" ? "fresh" : "stale";
    if (snapshot.setAgent(name, state) && state === "fresh") onBetter(name);
  }
}
