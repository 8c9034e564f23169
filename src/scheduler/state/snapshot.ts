/**
 * The nodes and what is bound to them, as the scheduler sees the cluster.
 *
 * Guarantees: changed app by app and node by node, never rebuilt; an app is counted on one node at most; assumed and confirmed
 * binds count alike. Nodes without a Node object are kept while apps are bound to them, but are no candidates.
 */
import { NodeEntry } from "../node-entry.ts";
import type { AgentState, NodeProperties, NodeReport, SchedulerApp } from "../types.ts";
import { FitCache } from "./fit-cache.ts";

/** The state that decisions are made on. */
export class Snapshot {
  readonly fitCache = new FitCache();
  readonly #entries = new Map<string, NodeEntry>();
  readonly #nodes: NodeEntry[] = [];
  readonly #places = new Map<string, NodeEntry>();
  readonly #nominations = new Map<string, NodeEntry>();
  readonly #leaving = new Map<string, NodeEntry>();
  #versions = new Uint32Array(64);
  #version = 0;

  /** All nodes that have a Node object, in no particular order. */
  get nodes(): readonly NodeEntry[] {
    return this.#nodes;
  }

  /** The version of each of `nodes`, by its place there. */
  get versions(): Uint32Array {
    return this.#versions;
  }

  /** A node by name, also one that only apps speak of. */
  node(name: string): NodeEntry | undefined {
    return this.#entries.get(name);
  }

  /** Every node that there is anything to say about. */
  entries(): Iterable<NodeEntry> {
    return this.#entries.values();
  }

  /** Takes over a Node object; says whether anything changed that filters look at. */
  setNode(name: string, facts: NodeProperties): boolean {
    const node = this.#entry(name);
    if (node.index >= 0 && sameProperties(node.facts, facts)) return false;
    if (node.index < 0) node.index = this.#nodes.push(node) - 1;
    node.facts = facts;
    this.#changed(node);
    return true;
  }

  /** There is no such Node object any more. Apps that are bound to it stay so. */
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
    this.#dropIfIdle(node);
  }

  /** Says how the node's agent is; true where that is new. */
  setAgent(name: string, agent: AgentState): boolean {
    const node = this.#entry(name);
    if (node.agent === agent) return false;
    node.agent = agent;
    this.#changed(node);
    this.#dropIfIdle(node);
    return true;
  }

  /** Takes over what an agent published; says whether that gives apps more room, or less pressure. */
  setReport(name: string, report: NodeReport): boolean {
    const node = this.#entry(name);
    const before = spare(node);
    const pressures = node.report?.pressures ?? [];
    node.applyReport(report);
    const samePressure = pressures.join() === report.pressures.join();
    if (!samePressure) this.#changed(node);
    return !samePressure || spare(node).some((points, at) => points > before[at]!);
  }

  /** Holds all that agents published against the apps that are known now. */
  reapplyReports(): void {
    for (const node of this.#entries.values()) node.reapplyReports();
  }

  /** Counts an app on a node, and nowhere else. */
  place(app: SchedulerApp, nodeName: string): void {
    this.displace(app.key);
    const node = this.#entry(nodeName);
    node.add(app);
    this.#places.set(app.key, node);
  }

  /** Stops counting an app; the node that it was on. */
  displace(key: string): NodeEntry | undefined {
    const node = this.#places.get(key);
    if (!node) return undefined;
    node.remove(key);
    this.#places.delete(key);
    this.#dropIfIdle(node);
    return node;
  }

  /** The node that an app is counted on. */
  placeOf(key: string): NodeEntry | undefined {
    return this.#places.get(key);
  }

  /** Keeps what an app had on a node, which it is leaving. */
  hold(app: SchedulerApp, nodeName: string): void {
    this.release(app.key);
    const node = this.#entry(nodeName);
    node.hold(app);
    this.#leaving.set(app.key, node);
  }

  /** The app has left; the node that it left. */
  release(key: string): NodeEntry | undefined {
    const node = this.#leaving.get(key);
    if (!node) return undefined;
    node.release(key);
    this.#leaving.delete(key);
    this.#dropIfIdle(node);
    return node;
  }

  /** The node that an app is leaving. */
  leavingFrom(key: string): NodeEntry | undefined {
    return this.#leaving.get(key);
  }

  /** Keeps room on a node for an app; undefined takes that back. */
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
    // One counter for all nodes: a place that is used again never meets a decision about its former node.
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

function sameProperties(one: NodeProperties, other: NodeProperties): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
