/** Measures the load of a fleet on its API server, and who uses the CPUs of this machine. */
import { availableParallelism } from "node:os";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import type { Cluster } from "../../test/harness/cluster.ts";
import { readBusySeconds } from "../machine-cpu.ts";
import { readCost } from "../process-cost.ts";
import type { Fleet } from "./fleet.ts";
import { isQuiet, type Window } from "./quiet.ts";
import { countsSince, type RequestCounts, sumOf, withoutHeartbeats } from "./requests.ts";

export interface Load {
  seconds: number;
  requests: RequestCounts;
  /** CPU seconds of each, and of everything on this machine. */
  apiServer: number;
  etcd: number;
  agents: number;
  benchmark: number;
  machine: number;
}

export interface Observed {
  cluster: Cluster;
  fleet: Fleet;
}

/** Longer than the period of reports: the first usage of an app is reported that long after its start. */
export const windowMs = 12_000;

/** Measures during `work`. */
export async function measureLoad<T>(
  { cluster, fleet }: Observed,
  work: () => Promise<T>,
): Promise<[Load, T]> {
  const cpu = ({ pid = 0 }: { pid?: number }) => readCost(pid).cpuSeconds;
  const read = async () => ({
    at: performance.now(),
    requests: await fleet.requests(),
    apiServer: cpu(cluster.apiServer),
    etcd: cpu(cluster.etcd),
    agents: fleet.cpuSeconds(),
    benchmark: process.cpuUsage(),
    machine: readBusySeconds(),
  });
  const before = await read();
  const result = await work();
  const after = await read();
  const own = process.cpuUsage(before.benchmark);
  return [{
    seconds: (after.at - before.at) / 1000,
    requests: countsSince(before.requests, after.requests),
    apiServer: after.apiServer - before.apiServer,
    etcd: after.etcd - before.etcd,
    agents: after.agents - before.agents,
    benchmark: (own.user + own.system) / 1e6,
    machine: after.machine - before.machine,
  }, result];
}

/** Waits until the fleet is quiet; returns how long that took, and whether it was quiet in the end. */
export async function becomesQuiet(
  observed: Observed,
  { agents, patienceMs }: { agents: number; patienceMs: number },
): Promise<{ quiet: boolean; seconds: number }> {
  const windows: Window[] = [];
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  while (!isQuiet(windows, agents) && elapsedMs() < patienceMs) {
    const [{ seconds, requests, apiServer }] = await measureLoad(observed, () => pause(windowMs));
    windows.push({ seconds, requests: sumOf(withoutHeartbeats(requests)), apiServer });
  }
  return { quiet: isQuiet(windows, agents), seconds: elapsedMs() / 1000 };
}

/** Returns the share of this machine's CPUs that were busy, in percent. */
export function busyPCT({ machine, seconds }: Load): number {
  return machine / seconds / availableParallelism() * 100;
}

/** Describes who used the CPUs, in percent of all of them. */
export function describeShares({ seconds, apiServer, etcd, agents, benchmark, machine }: Load): string {
  const parts = {
    "the API server": apiServer,
    etcd,
    "hollow agents": agents,
    "the benchmark": benchmark,
    "other work": Math.max(0, machine - apiServer - etcd - agents - benchmark),
  };
  const percent = (cpuSeconds: number) => (cpuSeconds / seconds / availableParallelism() * 100).toFixed(0);
  return Object.entries(parts).map(([who, used]) => `${who} ${percent(used)}%`).join(", ");
}
