/**
 * One node in the snapshot: its properties and what is used of it. Sums are updated as apps come and go, so that a decision only
 * compares numbers.
 *
 * Two kinds of apps use a node: `apps` are bound to it, and `leaving` were unbound but may still be stopping. Neither's points and
 * ports are free.
 */
import { leastForSpreading, wholeNode } from "./points.ts";
import type { AgentState, NodeProperties, NodeReport, SchedulerApp } from "./types.ts";

/** Agents round the free and reserved shares that they publish to a tenth of a percent. */
const roundingPoints = 100;

const unknownProperties: NodeProperties = {
  labels: {},
  taints: [],
  ready: false,
  cordoned: false,
  pressures: [],
};

/** How an app uses a node. */
export type Stay = "apps" | "leaving";

/** Only the snapshot changes an entry; preemption changes its own copies. */
export class NodeEntry {
  // What every decision reads comes first, so that it is close together in memory.
  /** Points that are free for apps. */
  freeCpu = wholeNode;
  freeMem = wholeNode;
  /** Points of bound and leaving apps, plus a little for an app without a cap. Only for scores. */
  spreadCpu = 0;
  spreadMem = 0;
  /** Apps for which preemption frees capacity here. A list, since it is usually empty. */
  nominated: readonly SchedulerApp[] = [];
  report: NodeReport | undefined;
  /** `spreadCpu` and `spreadMem` when the last report was received. */
  reportedSpreadCpu = 0;
  reportedSpreadMem = 0;
  /** Index in the snapshot's list of nodes; -1 without a Node object. */
  index = -1;
  /** Changes with everything that node filters and node scores read. */
  version = 0;
  readonly name: string;
  properties: NodeProperties = unknownProperties;
  agent: AgentState = "none";
  /** Points for apps: the whole node less its reserve. */
  roomCpu = wholeNode;
  roomMem = wholeNode;
  /** Points of bound and leaving apps. */
  usedCpu = 0;
  usedMem = 0;
  /** Points that the agent has promised to apps that the API server does not show, such as those of manifests. */
  hiddenCpu = 0;
  hiddenMem = 0;
  /** Host ports with the number of bound and leaving apps that use them. */
  readonly ports = new Map<number, number>();
  readonly apps = new Map<string, SchedulerApp>();
  readonly leaving = new Map<string, SchedulerApp>();

  constructor(name: string) {
    this.name = name;
  }

  add(app: SchedulerApp, as: Stay = "apps"): void {
    this[as].set(app.key, app);
    this.#count(app, 1);
  }

  remove(key: string, as: Stay = "apps"): void {
    const app = this[as].get(key);
    if (app && this[as].delete(key)) this.#count(app, -1);
  }

  /**
   * Applies an agent's report. The agent has certainly counted only the apps that it has observed; for the others its sum leaves a
   * range, and what was hidden before stays hidden as far as that range allows.
   * Caveat: a report that arrives after the status of an app that it does not count yet hides too little, until the next report.
   */
  applyReport(report: NodeReport): void {
    this.report = report;
    this.roomCpu = wholeNode - report.reservedCpu;
    this.roomMem = wholeNode - report.reservedMem;
    const observed = this.#observed();
    const promised = { cpu: this.roomCpu - report.freeCpu, mem: this.roomMem - report.freeMem };
    this.hiddenCpu = hidden(promised.cpu, {
      before: this.hiddenCpu,
      used: this.usedCpu,
      observed: observed.cpu,
    });
    this.hiddenMem = hidden(promised.mem, {
      before: this.hiddenMem,
      used: this.usedMem,
      observed: observed.mem,
    });
    this.reportedSpreadCpu = this.spreadCpu;
    this.reportedSpreadMem = this.spreadMem;
    this.#refreshFree();
  }

  /** Compares the last report with the apps that are known now, as if it were the first. */
  reapplyReport(): void {
    if (!this.report) return;
    this.hiddenCpu = this.hiddenMem = 0;
    this.applyReport(this.report);
  }

  /**
   * Returns the leaving apps that have stopped, as the agent's last report proves: what it has promised equals what the bound apps
   * have, without the caps of the leaving app. The report proves nothing about an app that has no caps, whose caps rounding may hide,
   * or that the agent may not have seen yet.
   * Caveat: if a bound app with the same caps has just ended and its status has not arrived yet, the sum is the same.
   */
  stoppedApps(): SchedulerApp[] {
    const { report } = this;
    if (!report) return [];
    const { cpu, mem } = this.#observed();
    const isOfBoundAppsAlone = isClose(this.roomCpu - report.freeCpu, cpu) &&
      isClose(this.roomMem - report.freeMem, mem);
    if (!isOfBoundAppsAlone) return [];
    return [...this.leaving.values()].filter((app) =>
      app.observed && (isVisible(app.cpu, report.freeCpu) || isVisible(app.mem, report.freeMem))
    );
  }

  copy(): NodeEntry {
    const [apps, leaving, ports] = [new Map(this.apps), new Map(this.leaving), new Map(this.ports)];
    return Object.assign(new NodeEntry(this.name), this, { apps, leaving, ports });
  }

  #observed(): { cpu: number; mem: number } {
    let [cpu, mem] = [0, 0];
    for (const app of this.apps.values()) {
      if (!app.observed) continue;
      cpu += app.cpu;
      mem += app.mem;
    }
    return { cpu, mem };
  }

  #count({ cpu, mem, ports }: SchedulerApp, sign: 1 | -1): void {
    this.usedCpu += sign * cpu;
    this.usedMem += sign * mem;
    this.spreadCpu += sign * (cpu || leastForSpreading);
    this.spreadMem += sign * (mem || leastForSpreading);
    for (const port of ports) {
      const users = (this.ports.get(port) ?? 0) + sign;
      if (users > 0) this.ports.set(port, users);
      else this.ports.delete(port);
    }
    this.#refreshFree();
  }

  #refreshFree(): void {
    this.freeCpu = this.roomCpu - this.usedCpu - this.hiddenCpu;
    this.freeMem = this.roomMem - this.usedMem - this.hiddenMem;
  }
}

function hidden(
  promised: number,
  { before, used, observed }: { before: number; used: number; observed: number },
): number {
  return Math.max(beyond(promised, used), Math.min(before, beyond(promised, observed)));
}

function beyond(promised: number, counted: number): number {
  return promised > counted + roundingPoints ? promised - counted : 0;
}

function isClose(promised: number, counted: number): boolean {
  return Math.abs(promised - counted) <= roundingPoints;
}

/** Reports whether a cap is large enough to show in a rounded sum. If nothing is free, the node may be overcommitted: any sum is possible. */
function isVisible(points: number, free: number): boolean {
  return points > 2 * roundingPoints && free > 0;
}
