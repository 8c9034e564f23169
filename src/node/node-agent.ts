/**
 * The node's part of the agent: measures the machine, evicts an app when memory runs short, and keeps the Node object and the
 * Leases. Without an API server it does only the first two.
 *
 * It runs three loops that do not wait for each other: a server that hangs must not delay an eviction.
 */
import type { KubeClient } from "../kube/client/client.ts";
import type { Logger } from "../lib/log.ts";
import { repeat } from "../lib/sleep.ts";
import { steadyNow } from "../lib/time.ts";
import { chooseEviction, type EvictionCandidate } from "./eviction.ts";
import type { NodeFacts } from "./facts.ts";
import type { Hardware } from "./hardware.ts";
import { createLeaseKeeper } from "./leases.ts";
import type { NodePicture } from "./node-object.ts";
import { memoryThreshold, noPressure, type Pressures, stepPressure } from "./pressure.ts";
import { activePressures, publish, type Shares } from "./published.ts";
import { createRegistration, type RegisterMode } from "./register.ts";
import type { NodeUsage, UsageReader } from "./usage.ts";

export interface NodeAgentOptions {
  client?: KubeClient;
  node: string;
  version: string;
  mode: RegisterMode;
  log: Logger;
  facts: () => Promise<NodeFacts>;
  usage: UsageReader;
  /** Shares of the node that are not promised to any app. */
  free: () => Shares;
  reserved?: Shares;
  /** Reports whether the agent works, and if not, why. */
  ready?: () => { ready: boolean; message: string };
  /** Called once, after the registration: it is expensive, and a node that cannot register does not need it. */
  hardware?: (signal?: AbortSignal) => Promise<Hardware>;
  /** The running apps. Without `evict`, none is evicted. */
  apps?: () => EvictionCandidate[];
  evict?: (key: string, message: string) => void;
  periodMs?: number;
  /** For timestamps. */
  now?: () => number;
  /** For waits. */
  steady?: () => number;
}

export interface NodeState {
  usage?: NodeUsage;
  pressures: Pressures;
  /** The Node object belongs to the agent. */
  registered: boolean;
}

export interface NodeAgent {
  run(signal: AbortSignal): Promise<void>;
  /** Measures the machine once, and evicts an app if memory is short. */
  observeOnce(): Promise<void>;
  /** Updates the Node object, if that is due. */
  registerOnce(signal?: AbortSignal): Promise<void>;
  /** Renews the Leases once; false if one failed. */
  renewOnce(signal?: AbortSignal): Promise<boolean>;
  state(): NodeState;
}

const registerPeriodMs = 60_000;

export function createNodeAgent(options: NodeAgentOptions): NodeAgent {
  const { client, node, version, mode, log, free, periodMs = 10_000 } = options;
  const { now = Date.now, steady = steadyNow } = options;
  const { reserved = { cpuPCT: 0, memPCT: 0 } } = options;
  const { ready = () => ({ ready: true, message: "nckubelet runs apps" }) } = options;
  const registration = client && createRegistration({ client, node, mode, log, now });
  let usage: NodeUsage | undefined;
  let pressures = noPressure(steady());
  let hardware: Hardware | undefined;
  let pictured = "";
  let picturedAt = -Infinity;

  const annotations = () => {
    const used = usage ?? { cpuPCT: 0, memPCT: 0 };
    return publish({ used, free: free(), reserved, pressure: activePressures(pressures), version });
  };
  const leases = client &&
    createLeaseKeeper({ client, node, log, annotations, owner: () => registration?.node, periodMs, now });

  const observeOnce = async () => {
    usage = await options.usage.read();
    const before = pressures;
    pressures = stepPressure(before, usage, steady());
    for (const resource of ["memory", "disk", "pid"] as const) {
      const { active, message } = pressures[resource];
      if (active && !before[resource].active) log.warn(`the node runs short of ${resource}`, { message });
      if (!active && before[resource].active) log.info(`the node has enough ${resource} again`);
    }
    if (pressures.memory.short) evictOne(pressures.memory.message);
  };

  const evictOne = (why: string) => {
    const eviction = options.evict && chooseEviction(options.apps?.() ?? [], why);
    if (!eviction) return;
    log.warn("evicting an app", { app: eviction.key, why: eviction.message });
    options.evict?.(eviction.key, eviction.message);
  };

  const picture = async (): Promise<NodePicture> => ({
    name: node,
    version,
    facts: await options.facts(),
    hardware,
    reserved,
    diskBytes: usage?.disk?.totalBytes,
    pressures,
    ready: ready(),
  });

  const registerOnce = async (signal?: AbortSignal) => {
    if (!registration) return;
    // Changes are written at once; otherwise the Node is checked once a minute.
    const next = JSON.stringify([ready(), activePressures(pressures), hardware]);
    if (next === pictured && steady() - picturedAt < registerPeriodMs) return;
    await registration.syncOnce(await picture(), signal);
    [pictured, picturedAt] = [next, steady()];
    if (registration.node?.registered) await findHardware(signal);
  };

  let askHardware = options.hardware;
  const findHardware = async (signal?: AbortSignal) => {
    const ask = askHardware;
    askHardware = undefined;
    hardware ??= await ask?.(signal).catch((error) => void log.debug("the hardware is unknown", { error }));
  };

  const attempt = (what: string, work: () => Promise<void>, signal: AbortSignal) =>
    work().catch((error) => {
      if (!signal.aborted) log.warn(`cannot ${what}; trying again`, { error });
    });

  return {
    observeOnce,
    registerOnce,
    renewOnce: async (signal) => await leases?.renewOnce(signal) ?? true,
    state: () => ({ usage, pressures, registered: registration?.node?.registered ?? false }),
    async run(signal) {
      const observe = () => attempt("measure the node", observeOnce, signal);
      const register = () => attempt("update the Node object", () => registerOnce(signal), signal);
      // The first Lease should contain measured values.
      await observe();
      await Promise.all([
        repeat(() => observeDelay(usage, periodMs), signal, observe, log),
        register().then(() => repeat(periodMs, signal, register, log)),
        leases?.run(signal),
      ]);
    },
  };
}

/** The closer memory is to running out, the more often it is measured. */
export function observeDelay(usage: NodeUsage | undefined, periodMs: number): number {
  if (!usage) return periodMs;
  const { memoryAvailableBytes, memoryTotalBytes } = usage;
  return memoryAvailableBytes < 2 * memoryThreshold(memoryTotalBytes) ? Math.min(1000, periodMs) : periodMs;
}
