import { type Labels, matchesSelector } from "../../api/label-selector.ts";
import type { NodeEntry } from "../node-entry.ts";
import type { AppSelector, AppTerm, SchedulerApp } from "../types.ts";
import { addTo, Counter } from "./counter.ts";
import { SelectorIndex } from "./selector-index.ts";
import { Topologies } from "./topology.ts";

interface Selected {
  readonly selector: AppSelector;
  readonly counter: Counter;
}

/** Apps that are bound and keep others away. */
interface Carried {
  readonly selector: AppSelector;
  readonly term: AppTerm;
  readonly carriers: Counter;
}

/** Selectors are users' input: those used last are kept, as long as they are few and small. */
const maxSelectors = 4096;
const maxCells = 1_000_000;
const maxCounted = 256;

/**
 * Counts bound apps: by family, by the selectors of waiting apps, and by the anti-affinity that they carry. Apps that are being deleted
 * do not count, as for Pods.
 */
export class SpreadCounts {
  readonly #topologies: Topologies;
  /** Bound apps by namespace and labels: those of a set share theirs, so a new selector is compared with few. */
  readonly #labeled = new Map<string, Map<Labels, Map<NodeEntry, number>>>();
  /** Counters whose domains are counted, in the order of their last use. */
  readonly #counted = new Set<Counter>();
  readonly #families = new Map<string, Counter>();
  /** In the order of their last use. */
  readonly #selected = new Map<string, Selected>();
  readonly #selectors = new SelectorIndex<Selected>();
  readonly #carried = new Map<string, Carried>();
  readonly #terms = new SelectorIndex<Carried>();

  /** `nodes` are the candidates. */
  constructor(nodes: () => readonly NodeEntry[]) {
    this.#topologies = new Topologies(nodes);
  }

  /** Reports whether an app that comes or goes may unblock others. */
  get hasRules(): boolean {
    return this.#selected.size + this.#carried.size > 0;
  }

  count(app: SchedulerApp, node: NodeEntry, by: 1 | -1): void {
    if (app.deleting) return;
    if (app.family !== undefined) {
      const family = this.#families.get(app.family) ?? new Counter(this.#topologies);
      family.change(node, by);
      if (family.isEmpty) this.#drop(this.#families, app.family, family);
      else this.#families.set(app.family, family);
    }
    this.#label(app, node, by);
    if (this.#selected.size > 0) {
      for (const { counter } of this.#selectors.matching(app.namespace, app.labels)) counter.change(node, by);
    }
    for (const term of app.spread.avoids) this.#carry(term, node, by);
  }

  family(app: SchedulerApp): Counter | undefined {
    const counter = app.family === undefined ? undefined : this.#families.get(app.family);
    return counter && this.#use(counter);
  }

  /** Returns the counter of the apps that the selector matches. */
  selected(selector: AppSelector): Counter {
    const found = this.#selected.get(selector.key) ?? this.#select(selector);
    this.#selected.delete(selector.key);
    this.#selected.set(selector.key, found);
    return this.#use(found.counter);
  }

  /** Returns the terms of bound apps that keep this app away. */
  against({ namespace, labels }: SchedulerApp): Carried[] {
    if (this.#carried.size === 0) return [];
    const found = this.#terms.matching(namespace, labels);
    for (const { carriers } of found) this.#use(carriers);
    return found;
  }

  /** A Node came or went, or its labels have changed. */
  nodesChanged(): void {
    this.#topologies.forget();
  }

  /** Domains are counted for those counters only that decisions use. */
  #use(counter: Counter): Counter {
    this.#counted.delete(counter);
    this.#counted.add(counter);
    if (this.#counted.size > maxCounted) {
      const [oldest] = this.#counted;
      oldest!.forget();
      this.#counted.delete(oldest!);
    }
    return counter;
  }

  #select(selector: AppSelector): Selected {
    this.#dropOldest();
    const added: Selected = { selector, counter: new Counter(this.#topologies) };
    for (const [labels, nodes] of this.#labeled.get(selector.namespace) ?? []) {
      if (!matchesSelector(selector.match, labels)) continue;
      for (const [node, apps] of nodes) added.counter.change(node, apps);
    }
    this.#selectors.add(added);
    return added;
  }

  #label({ namespace, labels }: SchedulerApp, node: NodeEntry, by: 1 | -1): void {
    let sets = this.#labeled.get(namespace);
    if (!sets) this.#labeled.set(namespace, sets = new Map());
    let nodes = sets.get(labels);
    if (!nodes) sets.set(labels, nodes = new Map());
    addTo(nodes, node, by);
    if (nodes.size === 0) sets.delete(labels);
    if (sets.size === 0) this.#labeled.delete(namespace);
  }

  #dropOldest(): void {
    let cells = 0;
    for (const { counter } of this.#selected.values()) cells += counter.byNode.size;
    for (const [key, oldest] of this.#selected) {
      if (this.#selected.size < maxSelectors && cells < maxCells) return;
      cells -= oldest.counter.byNode.size;
      this.#drop(this.#selected, key, oldest.counter);
      this.#selectors.remove(oldest);
    }
  }

  #carry(term: AppTerm, node: NodeEntry, by: 1 | -1): void {
    const key = `${term.topologyKey} ${term.selector.key}`;
    const known = this.#carried.get(key);
    const carried = known ?? { selector: term.selector, term, carriers: new Counter(this.#topologies) };
    carried.carriers.change(node, by);
    if (carried.carriers.isEmpty) {
      this.#drop(this.#carried, key, carried.carriers);
      this.#terms.remove(carried);
    } else if (!known) {
      this.#carried.set(key, carried);
      this.#terms.add(carried);
    }
  }

  #drop(from: Map<string, unknown>, key: string, counter: Counter): void {
    from.delete(key);
    this.#counted.delete(counter);
  }
}
