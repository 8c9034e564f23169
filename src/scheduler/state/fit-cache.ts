/**
 * Caches what node filters and node scores answer about each node, for apps with the same placement rules. They are evaluated once per
 * node and change of that node: of thousands of apps with the same rules, only the first is evaluated.
 */
import { nodeFilters } from "../filters/filters.ts";
import type { NodeEntry } from "../node-entry.ts";
import { nodeScores } from "../scores.ts";
import type { Placement, Policy } from "../types.ts";

const refused = -1;

/** The cached answers for one placement. */
export class FitTable {
  readonly #placement: Placement;
  readonly #policy: Policy;
  /** By the index of the node in the snapshot's list: the version that was evaluated, and its points. */
  #versions = new Uint32Array(64);
  #points = new Int32Array(64);

  constructor(placement: Placement, policy: Policy) {
    this.#placement = placement;
    this.#policy = policy;
  }

  /** Returns the weighted sum of the node's scores, or a negative number if a node filter refuses it. */
  of(node: NodeEntry): number {
    return this.#versions[node.index] === node.version ? this.#points[node.index]! : this.#evaluate(node);
  }

  /** The same by index: a refused node, as most are for an app with a node selector, is not even read. */
  at(index: number, versions: Uint32Array, nodes: readonly NodeEntry[]): number {
    // A node's version is never 0, the initial value in new tables.
    return this.#versions[index] === versions[index] ? this.#points[index]! : this.#evaluate(nodes[index]!);
  }

  #evaluate(node: NodeEntry): number {
    if (node.index >= this.#versions.length) this.#grow(node.index + 1);
    const points = evaluate(this.#placement, node, this.#policy);
    this.#versions[node.index] = node.version;
    this.#points[node.index] = points;
    return points;
  }

  #grow(least: number): void {
    const size = Math.max(least, this.#versions.length * 2);
    const [versions, points] = [new Uint32Array(size), new Int32Array(size)];
    versions.set(this.#versions);
    points.set(this.#points);
    [this.#versions, this.#points] = [versions, points];
  }
}

const maxTables = 256;

/** The tables of the most recently used placements. */
export class FitCache {
  readonly #tables = new Map<string, FitTable>();

  for(placement: Placement, policy: Policy): FitTable {
    const key = policy + placement.key;
    const table = this.#tables.get(key) ?? new FitTable(placement, policy);
    this.#tables.delete(key);
    this.#tables.set(key, table);
    if (this.#tables.size > maxTables) this.#tables.delete(this.#tables.keys().next().value!);
    return table;
  }
}

function evaluate(placement: Placement, node: NodeEntry, policy: Policy): number {
  for (const filter of nodeFilters) if (!filter.passes(placement, node)) return refused;
  let points = 0;
  for (const { weights, score } of nodeScores) points += weights[policy] * score(placement, node);
  return points;
}
