/** Which nodes are alive: the Leases of their agents, kept in the snapshot as time goes by. */
import { agentLease } from "../../api/names.ts";
import type { Lease } from "../../kube/lease.ts";
import { readReport } from "./read-node.ts";
import { type Clocks, type Health, type LeaseSeen, nodeHealth, seeLease, vanished } from "./node-health.ts";
import type { NodeEntry } from "../node-entry.ts";
import type { Snapshot } from "./snapshot.ts";

const leasePrefix = agentLease("");

/** True for the Lease of an agent; the namespace has those of kubelets too. */
export function isAgentLease(lease: Lease): boolean {
  return lease.metadata?.name?.startsWith(leasePrefix) ?? false;
}

export interface NodeLiveness {
  node: NodeEntry;
  /** Undefined: it never had an agent. */
  health: Health | undefined;
}

export interface LivenessOptions {
  snapshot: Snapshot;
  clocks: () => Clocks;
  /** How long a node may be silent; undefined: as long as its Lease lasts. */
  nodeGraceMs?: number;
  /** A node may take apps that it did not take before. */
  onBetter: (node: string) => void;
  /** An agent's news about a node that apps are leaving. */
  onReport: (node: NodeEntry) => void;
}

export class Liveness {
  readonly #options: LivenessOptions;
  readonly #leases = new Map<string, LeaseSeen>();
  readonly #deleted = new Set<string>();

  constructor(options: LivenessOptions) {
    this.#options = options;
  }

  applyLease(lease: Lease): void {
    const { snapshot, clocks, nodeGraceMs, onBetter, onReport } = this.#options;
    const name = nodeOf(lease);
    this.#deleted.delete(name);
    const before = this.#leases.get(name);
    const seen = seeLease(before, lease, clocks(), nodeGraceMs);
    this.#leases.set(name, seen);
    this.#setHealth(name, nodeHealth(seen, clocks()));
    const report = readReport(lease, clocks().wall);
    if (report && snapshot.setReport(name, report)) onBetter(name);
    const node = snapshot.node(name);
    // What a list brings again may be older than an app that came and went since.
    if (report && seen !== before && node && node.leaving.size > 0) onReport(node);
  }

  /** A Lease that is gone is not forgotten while apps are bound to its node: the node falls silent, and that is what counts. */
  removeLease(lease: Lease): void {
    this.#deleted.add(nodeOf(lease));
  }

  replaceLeases(leases: Lease[]): void {
    const listed = new Set(leases.map(nodeOf));
    for (const name of this.#leases.keys()) if (!listed.has(name)) this.#deleted.add(name);
    for (const lease of leases) this.applyLease(lease);
  }

  /** The state of every node, brought up to now; to be asked for once a second. */
  states(): NodeLiveness[] {
    const { snapshot, clocks, nodeGraceMs } = this.#options;
    const states: NodeLiveness[] = [];
    for (const node of [...snapshot.entries()]) {
      if (node.apps.size === 0 && this.#deleted.delete(node.name)) this.#leases.delete(node.name);
      // Bound to a node that is nowhere to be seen: as one that fell silent just now.
      const isPhantom = node.index < 0 && node.apps.size > 0 && !this.#leases.has(node.name);
      if (isPhantom) {
        this.#leases.set(node.name, vanished(clocks(), nodeGraceMs));
        this.#deleted.add(node.name);
      }
      const health = nodeHealth(this.#leases.get(node.name), clocks());
      this.#setHealth(node.name, health);
      states.push({ node, health });
    }
    return states;
  }

  #setHealth(name: string, health: Health | undefined): void {
    const { snapshot, onBetter } = this.#options;
    const state = health === undefined ? "none" : health.state === "fresh" ? "fresh" : "stale";
    if (snapshot.setAgent(name, state) && state === "fresh") onBetter(name);
  }
}

function nodeOf({ metadata }: Lease): string {
  return (metadata?.name ?? "").slice(leasePrefix.length);
}
