/**
 * Agents that run the apps of a job to completion, each with records of its own: an agent that is lost goes on with what it has seen
 * last and reports nothing. Every start and every end is counted.
 */
import { annotations } from "../../../src/api/names.ts";
import type { NCAppSetSpec } from "../../../src/api/types.ts";
import type { App } from "../../../src/sets/types.ts";
import { SimulatedCluster } from "./simulated-cluster.ts";

export type Outcome = "complete" | "fail" | "run";

interface Record {
  /** The app as the agent has seen it last. */
  app: App;
  phase: "Pending" | "Running" | "BackOff" | "Stopped" | "Succeeded" | "Failed";
  restarts: number;
  /** What the last run was started for. */
  startedFor?: string;
}

export interface Tally {
  starts: number;
  completions: number;
  failures: number;
}

export class SimulatedJob extends SimulatedCluster {
  /** What the next runs do, by the name of the app. */
  outcome: (name: string) => Outcome = () => "complete";
  readonly records = new Map<string, Map<string, Record>>();
  readonly tally = new Map<string, Tally>();
  /** Called after each change of a process. */
  onProcess: (name: string) => void = () => {};

  constructor(
    job: NonNullable<NCAppSetSpec["job"]>,
    { nodes = 3, restartPolicy = "Never" as const, ...app }: {
      nodes?: number;
      restartPolicy?: "Never" | "OnFailure";
    } & Partial<NCAppSetSpec["template"]["spec"]> = {},
  ) {
    const template = {
      metadata: { labels: { app: "web" } },
      spec: { shellFile: "/opt/job.sh", restartPolicy, ...app },
    };
    super({ nodes, spec: { job, template } });
  }

  /** The names of the apps whose processes live, once for each node. */
  get live(): string[] {
    return [...this.records.values()].flatMap((records) =>
      [...records].filter(([, { phase }]) => phase === "Running").map(([name]) => name)
    );
  }

  tallyOf(name: string): Tally {
    let found = this.tally.get(name);
    if (!found) this.tally.set(name, found = { starts: 0, completions: 0, failures: 0 });
    return found;
  }

  get completions(): number {
    return [...this.tally.values()].reduce((sum, { completions }) => sum + completions, 0);
  }

  editJob(change: Partial<NonNullable<NCAppSetSpec["job"]>>): void {
    this.edit((spec) => ({ ...spec, job: { ...spec.job, ...change } }));
  }

  retry(token: string): void {
    const { metadata } = this.set;
    this.set = { ...this.set, metadata: { ...metadata, annotations: { "app.example.com/retry": token } } };
  }

  /** All agents act once for this app. */
  override agentStep(name: string): void {
    for (const [node, records] of this.records) if (records.has(name)) this.#act(node, name);
    const node = this.apps.get(name)?.spec.nodeName;
    if (node && this.nodes.has(node) && !this.#of(node).has(name)) this.#act(node, name);
    this.#collect(name);
  }

  /** An agent loses its records of apps that it does not run, as after a new installation. */
  forget(name: string): void {
    for (const records of this.records.values()) {
      if (records.get(name)?.phase !== "Running") records.delete(name);
    }
  }

  /** A node that is gone takes its processes with it. */
  override leave(name: string): void {
    super.leave(name);
    this.records.delete(name);
    // The scheduler frees what it knows to be gone.
    for (const app of this.own) {
      const { metadata, spec, status } = app;
      if (status?.nodeName === name) this.report(metadata.name, { ...status, nodeName: "" });
      if (this.set.spec.job?.completions !== undefined && spec.nodeName === name && !isFinished(app)) {
        this.change(metadata.name, { ...spec, nodeName: undefined });
      }
      this.#collect(metadata.name);
    }
  }

  /** A deleted object goes when no node holds it. */
  #collect(name: string): void {
    const app = this.apps.get(name);
    if (!app?.metadata.deletionTimestamp) return;
    const holder = app.status?.nodeName ?? app.spec.nodeName ?? "";
    const isHeld = this.nodes.has(holder) && this.#of(holder).has(name);
    if (!isHeld && !this.isLost(app)) this.apps.delete(name);
  }

  #of(node: string): Map<string, Record> {
    let records = this.records.get(node);
    if (!records) this.records.set(node, records = new Map());
    return records;
  }

  #act(node: string, name: string): void {
    const records = this.#of(node);
    const isLost = this.nodes.get(node)?.agent === "lost";
    const current = this.apps.get(name);
    const isMine = current?.spec.nodeName === node && !current.metadata.deletionTimestamp;
    let record = records.get(name);
    if (!isLost && (!isMine || record && record.app.metadata.uid !== current.metadata.uid)) {
      records.delete(name);
      this.onProcess(name);
      if (current?.status?.nodeName === node) this.report(name, { ...current.status, nodeName: "" });
      return;
    }
    if (!isLost && isMine) {
      const { nodeName: holder } = current.status ?? {};
      if (holder && holder !== node) {
        const { generation: observedGeneration, annotations: notes = {} } = current.metadata;
        const observedRestartedAt = notes[annotations.restartedAt];
        return this.report(name, {
          ...{ phase: "Pending", reason: "StillStopping", nodeName: holder, observedGeneration },
          ...(observedRestartedAt ? { observedRestartedAt } : {}),
        });
      }
      record = { ...(record ?? { phase: "Pending", restarts: 0 }), app: current };
    }
    if (!record) return;
    const next = this.#step(record, name);
    records.set(name, next);
    this.onProcess(name);
    if (isLost) return;
    const restart = next.app.metadata.annotations?.[annotations.restartedAt];
    this.report(name, {
      phase: next.phase,
      ready: next.phase === "Running",
      restarts: next.restarts,
      nodeName: node,
      observedGeneration: next.app.metadata.generation,
      ...(restart ? { observedRestartedAt: restart } : {}),
    });
  }

  #step(record: Record, name: string): Record {
    const { app, phase, restarts, startedFor } = record;
    const what = app.metadata.annotations?.[annotations.restartedAt] ?? "";
    const start = (more: Partial<Record> = {}): Record => {
      this.tallyOf(name).starts++;
      return { ...record, ...more, phase: "Running", startedFor: what };
    };
    switch (phase) {
      case "Pending":
      case "Stopped":
        return app.spec.suspend ? { ...record, phase: "Stopped" } : start();
      case "BackOff":
        return app.spec.suspend ? { ...record, phase: "Stopped" } : start({ restarts: restarts + 1 });
      case "Succeeded":
      case "Failed":
        return startedFor === what ? record : { ...record, phase: "Pending" };
      case "Running": {
        if (app.spec.suspend) return { ...record, phase: "Stopped" };
        if (startedFor !== what) return { ...record, phase: "Pending" };
        // What a run does after someone has deleted or moved its app does not count: its agent, if lost, cannot say so.
        const { metadata, spec } = this.apps.get(name) ?? {};
        const isWanted = metadata?.uid === app.metadata.uid && !metadata.deletionTimestamp &&
          spec?.nodeName === app.spec.nodeName;
        const outcome = isWanted ? this.outcome(name) : "run";
        if (outcome === "run") return record;
        this.tallyOf(name)[outcome === "complete" ? "completions" : "failures"]++;
        if (outcome === "complete") return { ...record, phase: "Succeeded" };
        return { ...record, phase: app.spec.restartPolicy === "OnFailure" ? "BackOff" : "Failed" };
      }
    }
  }
}

function isFinished({ metadata, status = {} }: App): boolean {
  return (status.phase === "Succeeded" || status.phase === "Failed") &&
    (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}
