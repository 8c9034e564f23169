/**
 * The node's part of the agent: measures the machine, sees when it runs short and ends an app then, keeps the Node object and
 * the Leases. Without an API server only the first two.
 *
 * Three loops that do not wait for each other: a server that hangs must not keep the node from ending an app in time.
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
  /** Shares of the node that no app was promised. */
  free: () => Shares;
  reserved?: Shares;
  /** Whether the agent can do its work, and why not. */
  ready?: () => { ready: boolean; message: string };
  /** Asked once, after the registration; what it costs is worth nothing to a node that cannot register. */
  hardware?: (signal?: AbortSignal) => Promise<Hardware>;
  /** The apps that run, and the way to end one. */
  apps?: () => EvictionCandidate[];
  evict?: (key: string, message: string) => void;
  periodMs?: number;
  /** For what is written. */
  now?: () => number;
  /** For waits. */
  steady?: () => number;
}

export interface NodeState {
  usage?: NodeUsage;
  pressures: Pressures;
  /** The Node object is the agent's own. */
  registered: boolean;
}

export interface NodeAgent {
  run(signal: AbortSignal): Promise<void>;
  /** One look at the machine, and what follows from it. */
  observeOnce(): Promise<void>;
  /** One round for the Node object. */
  registerOnce(signal?: AbortSignal): Promise<void>;
  /** One renewal of the Leases; false where one failed. */
  renewOnce(signal?: AbortSignal): Promise<boolean>;
  state(): NodeState;
}

const registerPeriodMs = 60_000;

/** Makes the node's part of the agent. */
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
    // What changed goes out at once; else the Node is looked at once a minute.
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
      const register = () => attempt("keep the Node object", () => registerOnce(signal), signal);
      // The first Lease should say something true.
      await observe();
      await Promise.all([
        repeat(() => observeDelay(usage, periodMs), signal, observe, log),
        register().then(() => repeat(periodMs, signal, register, log)),
        leases?.run(signal),
      ]);
    },
  };
}

/** The nearer memory is to its end, the closer it is watched. */
export function observeDelay(usage: NodeUsage | undefined, periodMs: number): number {
  if (!usage) return periodMs;
  const { memoryAvailableBytes, memoryTotalBytes } = usage;
  return memoryAvailableBytes < 2 * memoryThreshold(memoryTotalBytes) ? Math.min(1000, periodMs) : periodMs;
}
