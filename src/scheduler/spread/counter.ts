/**
 * Counts apps by node and by the domains of topologies. Sums follow every change, so that a decision only looks them up.
 */
import type { NodeEntry } from "../node-entry.ts";
import type { Topologies, Topology } from "./topology.ts";

/** The apps in each domain of a topology. */
export interface DomainCounts {
  readonly topology: Topology;
  /** By the number of the domain. */
  readonly counts: Int32Array;
}

interface Kept extends DomainCounts {
  readonly leasts: Map<string, { version: number; least: Least }>;
}

/** Placement rules are users' input: those used last are kept. */
const maxLeasts = 16;

export class Counter {
  readonly byNode = new Map<NodeEntry, number>();
  readonly #topologies: Topologies;
  /** By topology. */
  readonly #kept = new Map<string, Kept>();

  constructor(topologies: Topologies) {
    this.#topologies = topologies;
  }

  get isEmpty(): boolean {
    return this.byNode.size === 0;
  }

  change(node: NodeEntry, by: number): void {
    addTo(this.byNode, node, by);
    for (const [topologyKey, { topology, counts, leasts }] of this.#kept) {
      if (!this.#topologies.isCurrent(topologyKey, topology)) {
        this.#kept.delete(topologyKey);
        continue;
      }
      const domain = topology.ids[node.index] ?? -1;
      if (domain < 0) continue;
      const before = counts[domain]!;
      counts[domain] = before + by;
      for (const { least } of leasts.values()) least.change(domain, before, before + by);
    }
  }

  in(topologyKey: string): DomainCounts {
    return this.#keep(topologyKey);
  }

  /** Returns the least count of a domain of nodes that `accepts`; evaluated only if `rules` or `version` differ from before. */
  least(topologyKey: string, rules: string, version: number, accepts: (index: number) => boolean): number {
    const { topology, counts, leasts } = this.#keep(topologyKey);
    let found = leasts.get(rules);
    if (found?.version !== version) found = { version, least: new Least(topology, counts, accepts) };
    leasts.delete(rules);
    leasts.set(rules, found);
    if (leasts.size > maxLeasts) leasts.delete(leasts.keys().next().value!);
    return found.least.value;
  }

  /** Frees what can be counted again. */
  forget(): void {
    this.#kept.clear();
  }

  #keep(topologyKey: string): Kept {
    const topology = this.#topologies.of(topologyKey);
    let kept = this.#kept.get(topologyKey);
    if (kept?.topology !== topology) {
      const counts = new Int32Array(topology.domains);
      for (const [node, apps] of this.byNode) {
        const domain = topology.ids[node.index] ?? -1;
        if (domain >= 0) counts[domain]! += apps;
      }
      this.#kept.set(topologyKey, kept = { topology, counts, leasts: new Map() });
    }
    return kept;
  }
}

export function addTo<Key>(counts: Map<Key, number>, key: Key, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/** The least count of some domains. */
class Least {
  readonly #isEligible: Uint8Array;
  /** The number of domains by their count. */
  readonly #domains = new Map<number, number>();
  value = 0;

  constructor({ ids, domains }: Topology, counts: Int32Array, accepts: (index: number) => boolean) {
    this.#isEligible = new Uint8Array(domains);
    for (const [index, domain] of ids.entries()) {
      if (domain >= 0 && !this.#isEligible[domain] && accepts(index)) this.#isEligible[domain] = 1;
    }
    for (const [domain, count] of counts.entries()) {
      if (this.#isEligible[domain]) addTo(this.#domains, count, 1);
    }
    this.value = this.#domains.size === 0 ? 0 : Math.min(...this.#domains.keys());
  }

  change(domain: number, before: number, now: number): void {
    if (!this.#isEligible[domain]) return;
    addTo(this.#domains, before, -1);
    addTo(this.#domains, now, 1);
    if (now < this.value) this.value = now;
    else if (!this.#domains.has(this.value)) this.value = Math.min(...this.#domains.keys());
  }
}
