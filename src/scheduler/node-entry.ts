/**
 * One node in the snapshot: what it is, and what is taken of it. Sums are kept as apps come and go, so that a decision only
 * compares numbers.
 */
import { leastForSpreading, wholeNode } from "./points.ts";
import type { AgentState, NodeProperties, NodeReport, SchedulerApp } from "./types.ts";

/** Agents round what they publish to a tenth of a percent: what is free, and what is reserved. */
const roundingPoints = 100;

const nothingKnown: NodeProperties = { labels: {}, taints: [], ready: false, cordoned: false, pressures: [] };

/** A node. Only the snapshot changes it, and preemption its own copies. */
export class NodeEntry {
  // What every decision looks at comes first: so it is close together in memory.
  /** Points that are left for apps. */
  freeCpu = wholeNode;
  freeMem = wholeNode;
  /** Points that apps have, with a little for apps that have no cap, those that are leaving included. */
  spreadCpu = 0;
  spreadMem = 0;
  /** Apps that wait for room here, which was made for them. A list: mostly there is none. */
  nominated: readonly SchedulerApp[] = [];
  report: NodeReport | undefined;
  /** `spread` when the last report came. */
  reportedSpreadCpu = 0;
  reportedSpreadMem = 0;
  /** Place in the list of nodes; -1 while there is no Node object. */
  index = -1;
  /** Changes with all that the filters of the kind "node" look at. */
  version = 0;
  readonly name: string;
  facts: NodeProperties = nothingKnown;
  agent: AgentState = "none";
  /** Points that apps may have. */
  roomCpu = wholeNode;
  roomMem = wholeNode;
  /** Points that apps have. */
  usedCpu = 0;
  usedMem = 0;
  /** Points that the agent has promised to apps that the API server does not show. */
  hiddenCpu = 0;
  hiddenMem = 0;
  readonly ports = new Map<number, number>();
  readonly apps = new Map<string, SchedulerApp>();
  /** Apps that were unbound and may still be stopping. */
  readonly leaving = new Map<string, SchedulerApp>();

  constructor(name: string) {
    this.name = name;
  }

  add(app: SchedulerApp): void {
    this.apps.set(app.key, app);
    this.#count(app, 1);
  }

  /** Takes an app away; false where it was not here. */
  remove(key: string): boolean {
    const app = this.apps.get(key);
    if (!app) return false;
    this.apps.delete(key);
    this.#count(app, -1);
    return true;
  }

  /** Keeps what an app had until it has certainly stopped. */
  hold(app: SchedulerApp): void {
    this.release(app.key);
    this.leaving.set(app.key, app);
    this.#count(app, 1);
  }

  release(key: string): boolean {
    const app = this.leaving.get(key);
    if (!app) return false;
    this.leaving.delete(key);
    this.#count(app, -1);
    return true;
  }

  /**
   * Takes over what the agent said. Whether it had seen each app by then is certain only of those that it has observed: about the
   * others its sum leaves a range, and what was hidden before stays as far as that allows.
   * Caveat: a report that comes later than the status of an app which it does not count yet hides too little, until the next one.
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

  /** Holds the last report against the apps that are known now, as if it were the first. */
  reapplyReports(): void {
    if (!this.report) return;
    this.hiddenCpu = this.hiddenMem = 0;
    this.applyReport(this.report);
  }

  /**
   * Those of the leaving apps that are gone, as the agent's last report proves: what it has promised is what the other apps have, and
   * the caps of the one that left would show in that sum. They would not where there are none, where rounding may hide them, or where
   * the agent had perhaps not seen the app yet: about those the report says nothing.
   * Caveat: where another app of the same caps has ended a moment ago, and its status has not come yet, the sum is the same.
   */
  stoppedApps(): SchedulerApp[] {
    const { report } = this;
    if (!report) return [];
    const { cpu, mem } = this.#observed();
    const isOthersAlone = isClose(this.roomCpu - report.freeCpu, cpu) &&
      isClose(this.roomMem - report.freeMem, mem);
    if (!isOthersAlone) return [];
    return [...this.leaving.values()].filter((app) =>
      app.observed && (standsOut(app.cpu, report.freeCpu) || standsOut(app.mem, report.freeMem))
    );
  }

  /** A copy that may be changed to try something out. */
  copy(): NodeEntry {
    const copy = new NodeEntry(this.name);
    const { version, index, facts, agent, report, roomCpu, roomMem, hiddenCpu, hiddenMem } = this;
    const { reportedSpreadCpu, reportedSpreadMem } = this;
    Object.assign(copy, { version, index, facts, agent, report, roomCpu, roomMem, hiddenCpu, hiddenMem });
    Object.assign(copy, { reportedSpreadCpu, reportedSpreadMem });
    for (const app of this.apps.values()) copy.add(app);
    for (const app of this.leaving.values()) copy.hold(app);
    copy.nominated = this.nominated;
    copy.#refreshFree();
    return copy;
  }

  /** What the apps have that the agent has certainly seen. */
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

/** Rounding may take from the sum that has it, and add to the sum without it. Where nothing is free the node may be overfull: any sum. */
function standsOut(points: number, free: number): boolean {
  return points > 2 * roundingPoints && free > 0;
}
