/** The nodes and the health of their agents, by the Leases that they renew. */
import { nodeOfLease } from "../api/names.ts";
import { type NodeProperties, readNode } from "../api/placement/placement.ts";
import type { Lease } from "../kube/lease.ts";
import { type Clocks, NodeLeases } from "../kube/node-health.ts";
import { isDeepStrictEqual } from "node:util";
import type { Node } from "./types.ts";

export interface Nodes {
  readonly all: ReadonlyMap<string, Node>;
  applyNode(node: Parameters<typeof readNode>[0] & { metadata: { name: string } }): void;
  removeNode(name: string): void;
  applyLease(lease: Lease): void;
  /** Updates the health of all agents, which changes as time passes. */
  check(): void;
}

/** `onChange` is called when a node appears, changes or goes. */
export function createNodes(clocks: () => Clocks, onChange: () => void, graceMs?: number): Nodes {
  const all = new Map<string, Node>();
  /** The Lease of a node that is gone stays: it comes back with it, or expires. */
  const leases = new NodeLeases(clocks, graceMs);

  const agentOf = (name: string): Node["agent"] => leases.health(name)?.state ?? "none";
  const put = (name: string, properties: NodeProperties) => {
    const next: Node = { name, properties, agent: agentOf(name) };
    if (isDeepStrictEqual(all.get(name), next)) return;
    all.set(name, next);
    onChange();
  };

  return {
    all,
    applyNode(node) {
      const { name } = node.metadata;
      put(name, readNode(node, all.get(name)?.properties.taints ?? [], clocks().wall));
    },
    removeNode(name) {
      if (all.delete(name)) onChange();
    },
    applyLease(lease) {
      const name = nodeOfLease(lease);
      leases.apply(name, lease);
      const node = all.get(name);
      if (node) put(name, node.properties);
    },
    check() {
      for (const { name, properties, agent } of all.values()) {
        if (agentOf(name) !== agent) put(name, properties);
      }
    },
  };
}
