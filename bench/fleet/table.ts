/** The figures of measured fleets. Pure. */
import type { Figure } from "../benchmark.ts";
import { percentile } from "../statistics.ts";
import { backlogMs, type Changes } from "./changes.ts";
import { busyPCT, describeShares, type Load } from "./load.ts";
import { perUnit, type RequestCounts, sumOf } from "./requests.ts";

export interface Measured {
  agents: number;
  apps: number;
  isSelected: boolean;
  /** Whether the fleet was quiet before the measurement. */
  settled: { quiet: boolean; seconds: number };
  /** The server with the apps, before the first agent. */
  without: Load;
  /** The writes about apps until all of them ran. */
  starts?: RequestCounts;
  idle: Load;
  busy: Busy[];
}

/** Changes at one rate. */
export interface Busy {
  perSecond: number;
  load: Load;
  changes: Changes;
  /** The writes about apps, until the usage of the new runs was reported. */
  writes: RequestCounts;
}

/** Returns the rows of all fleets; those without the selector are the peers of the others. */
export function describeFleets(measured: Measured[], { patienceMs }: { patienceMs: number }): Figure[] {
  const selected = measured.filter(({ isSelected }) => isSelected);
  const rows = selected.flatMap((fleet) => {
    const peer = measured.find(({ isSelected, agents }) => !isSelected && agents === fleet.agents);
    const peerAt = (rate: number) => peer?.busy.find(({ perSecond }) => perSecond === rate);
    return [
      ...describeIdle(fleet, peer),
      ...fleet.busy.flatMap((busy) => describeBusy(fleet, busy, peerAt(busy.perSecond), patienceMs)),
    ];
  });
  return [...rows, ...growth(selected)];
}

/** Reports whether changes arrived as fast as they were made. */
export function isSustained({ count, backlog }: Changes): boolean {
  return backlog <= count / 100;
}

type Row = Omit<Figure, "figure" | "peer" | "ours"> & { what: string };

/** Returns a row of what `pick` finds in ours and in the peer, if there is one. */
function row<T>(
  of: string,
  [ours, peer]: [T, T | undefined],
  { what, ...rest }: Row,
  pick: (one: T) => number,
): Figure {
  return {
    figure: `${of}: ${what}`,
    ours: pick(ours),
    ...rest,
    ...(peer && { peer: { what: "without the selector", value: pick(peer) } }),
  };
}

const perSecond = ({ requests, seconds }: Load) => sumOf(requests) / seconds;
/** Percent of a core per 100 agents. */
const perHundred = (cpuSeconds: number, { seconds }: Load, agents: number) =>
  cpuSeconds / seconds / agents * 100 * 100;

function describeIdle(fleet: Measured, peer?: Measured): Figure[] {
  const { agents, apps, starts = {}, without } = fleet;
  const of = (what: string, unit: string, more: Partial<Row>, pick: (one: Measured) => number) =>
    row(`${agents} agents, idle`, [fleet, peer], { what, unit, ...more }, pick);
  const server = (pick: (load: Load) => number) => ({
    limit: { what: "without agents", value: perHundred(pick(without), without, agents) },
  });
  const restless = [fleet, peer].filter((one) => one?.settled.quiet === false);
  const perMinute = perUnit(fleet.idle.requests, agents * fleet.idle.seconds / 60);
  const notes = [
    `per agent and minute: ${perMinute}`,
    ...restless.map((one) =>
      `${one!.isSelected ? "with" : "without"} the selector, the fleet was not quiet after ${
        one!.settled.seconds.toFixed(0)
      } s`
    ),
  ];
  return [
    {
      figure: `${agents} agents: requests per app start`,
      ours: sumOf(starts) / apps,
      unit: "requests",
      note: perUnit(starts, apps),
    },
    of("requests", "requests/s", { note: notes.join("; ") }, ({ idle }) => perSecond(idle)),
    of(
      "CPU of the API server per 100 nodes",
      "%",
      server(({ apiServer }) => apiServer),
      ({ idle }) => perHundred(idle.apiServer, idle, agents),
    ),
    of(
      "CPU of etcd per 100 nodes",
      "%",
      server(({ etcd }) => etcd),
      ({ idle }) => perHundred(idle.etcd, idle, agents),
    ),
  ];
}

function describeBusy(
  { agents, idle }: Measured,
  busy: Busy,
  peer: Busy | undefined,
  patienceMs: number,
): Figure[] {
  const { changes } = busy;
  const of = (what: string, unit: string, more: Partial<Row>, pick: (one: Busy) => number) =>
    row(`${agents} agents, ${busy.perSecond} changes/s`, [busy, peer], { what, unit, ...more }, pick);
  const time = (share: number) => ({ changes: { times } }: Busy) => percentile(times, share);
  const timedPeer = peer && isSustained(peer.changes) ? peer : undefined;
  const ofTimes = (what: string, share: number) =>
    row(
      `${agents} agents, ${busy.perSecond} changes/s`,
      [busy, timedPeer],
      { what, unit: "ms" },
      time(share),
    );
  const arrived = ({ changes: { times, count } }: Busy) => times.length / count * 100;
  return [
    of("requests per change", "requests", {
      note: `${perUnit(busy.writes, takenOf(busy))}; usage is reported once after each restart`,
    }, (one) => sumOf(one.writes) / takenOf(one)),
    of("requests", "requests/s", {
      note: "of the agents, without the changes themselves",
    }, ({ load }) => perSecond(load)),
    of(
      "CPU of the API server per 100 nodes",
      "%",
      {},
      ({ load }) => perHundred(load.apiServer, load, agents),
    ),
    of("CPU of etcd per 100 nodes", "%", {}, ({ load }) => perHundred(load.etcd, load, agents)),
    row(
      `${agents} agents, ${busy.perSecond} changes/s`,
      [busy, undefined],
      {
        what: "CPU time of the API server per change",
        unit: "ms",
        note: "without what it uses for the idle fleet",
      },
      ({ load }) => (load.apiServer - idle.apiServer / idle.seconds * load.seconds) / takenOf(busy) * 1000,
    ),
    of("CPUs of this machine in use", "%", { note: describeShares(busy.load) }, ({ load }) => busyPCT(load)),
    of(`statuses that arrived within ${patienceMs / 1000} s`, "%", {
      better: "higher",
      note: describeChanges(changes),
    }, arrived),
    ...(isSustained(changes)
      ? [ofTimes("apply → status Running, p50", 0.5), ofTimes("apply → status Running, p99", 0.99)]
      : []),
  ];
}

/** The changes that the server took. */
function takenOf({ changes: { count, refused } }: Busy): number {
  return Math.max(1, count - refused);
}

function describeChanges(changes: Changes): string {
  const { count, times, refused, backlog } = changes;
  return `${times.length} of ${count}; ${backlog} had not arrived ${
    backlogMs / 1000
  } s after the last change, ${refused} the server did not take in time: ` +
    (isSustained(changes)
      ? "the machine sustains this rate"
      : "the machine does not sustain this rate, so there are no percentiles");
}

/** How the cost of one agent grows with the fleet: 1 is linear growth of the whole. */
function growth(fleets: Measured[]): Figure[] {
  const [small, large] = [fleets[0], fleets.at(-1)];
  if (!small || !large || small === large) return [];
  const cost = ({ idle, without, agents }: Measured) =>
    (idle.apiServer / idle.seconds - without.apiServer / without.seconds) / agents;
  return [{
    figure: `idle: CPU of the API server per agent, growth from ${small.agents} to ${large.agents} agents`,
    ours: cost(large) / cost(small),
    unit: "times",
    note: "without what the API server uses when there are no agents",
  }];
}
