/**
 * The domains of nodes, as numbers: thousands of nodes are looked up in every decision, and a number of a list costs less than a label.
 */
import { labelOf } from "../../api/label-selector.ts";
import type { NodeEntry } from "../node-entry.ts";

/** A topology of the nodes as they were when it was made. */
export interface Topology {
  /** The number of the node's domain, by the node's index; -1 without the label. */
  readonly ids: Int32Array;
  readonly domains: number;
}

/** The topology in which each node is its own domain. */
export const byNode = "";

/** Names of topologies are users' input. */
const maxTopologies = 64;

export class Topologies {
  readonly #nodes: () => readonly NodeEntry[];
  readonly #known = new Map<string, Topology>();

  constructor(nodes: () => readonly NodeEntry[]) {
    this.#nodes = nodes;
  }

  of(topologyKey: string): Topology {
    let topology = this.#known.get(topologyKey);
    if (!topology) {
      if (this.#known.size >= maxTopologies) this.#known.clear();
      this.#known.set(topologyKey, topology = readTopology(this.#nodes(), topologyKey));
    }
    return topology;
  }

  /** Reports whether the topology is that of the nodes as they are. */
  isCurrent(topologyKey: string, topology: Topology): boolean {
    return this.#known.get(topologyKey) === topology;
  }

  /** A Node came or went, or its labels have changed. */
  forget(): void {
    this.#known.clear();
  }
}

function readTopology(nodes: readonly NodeEntry[], topologyKey: string): Topology {
  const ids = new Int32Array(nodes.length);
  if (topologyKey === byNode) return { ids: ids.map((_, index) => index), domains: nodes.length };
  const numbers = new Map<string, number>();
  for (const [index, { properties }] of nodes.entries()) {
    const domain = labelOf(properties.labels, topologyKey);
    if (domain === undefined) ids[index] = -1;
    else {
      const known = numbers.get(domain);
      ids[index] = known ?? numbers.size;
      if (known === undefined) numbers.set(domain, numbers.size);
    }
  }
  return { ids, domains: numbers.size };
}
