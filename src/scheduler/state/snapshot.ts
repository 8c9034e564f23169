/**
 * The nodes and what is bound to them: the state that decisions are based on.
 *
 * Guarantees: it changes app by app and node by node and is never rebuilt; an app is bound to one node at most; assumed and confirmed
 * binds count alike. Nodes without a Node object are kept while apps are bound to them, but are not candidates.
 */
import { NodeEntry, type Stay } from "../node-entry.ts";
import type { AgentState, NodeProperties, NodeReport, SchedulerApp } from "../types.ts";
import { SpreadCounts } from "../spread/spread.ts";
import { FitCache } from "./fit-cache.ts";

export class Snapshot {
  readonly fitCache = new FitCache();
  readonly spread = new SpreadCounts(() => this.#nodes);
  readonly #entries = new Map<string, NodeEntry>();
  readonly #nodes: NodeEntry[] = [];
  /** By the key of an app that stays there. */
  readonly #nodesOf: Record<Stay, Map<string, NodeEntry>> = { apps: new Map(), leaving: new Map() };
  readonly #nominations = new Map<string, NodeEntry>();
  #versions = new Uint32Array(64);
  #version = 0;

  /** All nodes that have a Node object, in no particular order. */
  get nodes(): readonly NodeEntry[] {
    return this.#nodes;
  }

  /** The version of each node, by its index in `nodes`. */
  get versions(): Uint32Array {
    return this.#versions;
  }

  /** Changes with every node. */
  get version(): number {
    return this.#version;
  }

  /** Returns a node by name, even if only apps refer to it. */
  node(name: string): NodeEntry | undefined {
    return this.#entries.get(name);
  }

  /** All nodes, including those without a Node object. */
  entries(): Iterable<NodeEntry> {
    return this.#entries.values();
  }

  /** Applies a Node object; reports whether anything changed that filters read. */
  setNode(name: string, properties: NodeProperties): boolean {
    const node = this.#entry(name);
    if (node.index >= 0 && sameProperties(node.properties, properties)) return false;
    const isMoved = node.index < 0 || !sameLabels(node.properties, properties);
    if (node.index < 0) node.index = this.#nodes.push(node) - 1;
    node.properties = properties;
    this.#changed(node);
    if (isMoved) this.spread.nodesChanged();
    return true;
  }

  /** Removes a Node object. Apps that are bound to it stay bound. */
  removeNode(name: string): void {
    const node = this.#entries.get(name);
    if (!node || node.index < 0) return;
    const last = this.#nodes.pop()!;
    if (last !== node) {
      this.#nodes[node.index] = last;
      last.index = node.index;
      this.#changed(last);
    }
    node.index = -1;
    this.#changed(node);
    this.spread.nodesChanged();
    this.#dropIfIdle(node);
  }

  /** Sets the state of the node's agent; reports whether it changed. */
  setAgent(name: string, agent: AgentState): boolean {
    const node = this.#entry(name);
    if (node.agent === agent) return false;
    node.agent = agent;
    this.#changed(node);
    this.#dropIfIdle(node);
    return true;
  }

  /** Applies an agent's report; reports whether it may give apps more capacity or changes the pressures. */
  setReport(name: string, report: NodeReport): boolean {
    const node = this.#entry(name);
    const before = spare(node);
    const pressures = node.report?.pressures ?? [];
    node.applyReport(report);
    const samePressure = pressures.join() === report.pressures.join();
    if (!samePressure) this.#changed(node);
    return !samePressure || spare(node).some((points, index) => points > before[index]!);
  }

  reapplyReports(): void {
    for (const node of this.#entries.values()) node.reapplyReport();
  }

  /** Adds an app to the bound or leaving apps of a node, and removes it from those of any other. */
  place(app: SchedulerApp, nodeName: string, as: Stay = "apps"): void {
    this.remove(app.key, as);
    const node = this.#entry(nodeName);
    node.add(app, as);
    if (as === "apps") this.spread.count(app, node, 1);
    this.#nodesOf[as].set(app.key, node);
  }

  /** Returns the node that it was on. */
  remove(key: string, as: Stay = "apps"): NodeEntry | undefined {
    const node = this.#nodesOf[as].get(key);
    if (!node) return undefined;
    const app = node[as].get(key);
    node.remove(key, as);
    if (app && as === "apps") this.spread.count(app, node, -1);
    this.#nodesOf[as].delete(key);
    this.#dropIfIdle(node);
    return node;
  }

  /** Returns the node that an app is bound or assumed to be bound to, or the one that it is leaving. */
  nodeOf(key: string, as: Stay = "apps"): NodeEntry | undefined {
    return this.#nodesOf[as].get(key);
  }

  /** Reserves capacity on a node for an app; undefined cancels that. */
  nominate(app: SchedulerApp, nodeName: string | undefined): void {
    const before = this.#nominations.get(app.key);
    if (before) before.nominated = before.nominated.filter(({ key }) => key !== app.key);
    this.#nominations.delete(app.key);
    if (nodeName !== undefined) {
      const node = this.#entry(nodeName);
      node.nominated = [...node.nominated, app];
      this.#nominations.set(app.key, node);
    }
    if (before) this.#dropIfIdle(before);
  }

  nominatedNode(key: string): NodeEntry | undefined {
    return this.#nominations.get(key);
  }

  #entry(name: string): NodeEntry {
    let node = this.#entries.get(name);
    if (!node) {
      node = new NodeEntry(name);
      this.#entries.set(name, node);
    }
    return node;
  }

  #changed(node: NodeEntry): void {
    // One counter for all nodes: an index that is reused never matches a cached answer about its former node.
    node.version = ++this.#version;
    if (node.index < 0) return;
    if (node.index >= this.#versions.length) {
      const grown = new Uint32Array(this.#versions.length * 2);
      grown.set(this.#versions);
      this.#versions = grown;
    }
    this.#versions[node.index] = node.version;
  }

  #dropIfIdle(node: NodeEntry): void {
    const { index, agent, apps, leaving, nominated } = node;
    if (index >= 0 || agent !== "none" || apps.size + leaving.size + nominated.length > 0) return;
    this.#entries.delete(node.name);
  }
}

function spare({ roomCpu, roomMem, hiddenCpu, hiddenMem }: NodeEntry): [number, number] {
  return [roomCpu - hiddenCpu, roomMem - hiddenMem];
}

function sameLabels(a: NodeProperties, b: NodeProperties): boolean {
  return JSON.stringify(a.labels) === JSON.stringify(b.labels);
}

function sameProperties(a: NodeProperties, b: NodeProperties): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
