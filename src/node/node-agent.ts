/**
 * The node's part of the agent: measures the machine, evicts an app when memory runs short, and keeps the Node object and the
 * Leases. Without an API server it does only the first two.
 *
 * It runs three loops that do not wait for each other: a server that hangs must not delay an eviction. While another agent renews
 * the Lease of this node, it leaves the Node object to that one.
 */
import type { KubeClient } from "../kube/client/client.ts";
import type { Logger } from "../lib/log.ts";
import { repeat } from "../lib/sleep.ts";
import { steadyNow } from "../lib/time.ts";
import { chooseEviction, type EvictionCandidate } from "./eviction.ts";
import type { NodeFacts } from "./facts.ts";
import type { Hardware } from "./hardware.ts";
import type { AgentIdentity } from "./holder.ts";
import { createLeaseRenewer, type Standing } from "./leases.ts";
import type { NodePicture } from "./node-object.ts";
import { memoryThreshold, noPressure, type Pressures, stepPressure } from "./pressure.ts";
import { activePressures, publish, type Shares } from "./published.ts";
import { createRegistration, type RegisterMode } from "./register.ts";
import type { NodeUsage, ReadUsage } from "./usage.ts";

export interface NodeAgentOptions {
  client?: KubeClient;
  node: string;
  /** Distinguishes this agent from another one with the same node name. */
  identity: AgentIdentity;
  version: string;
  mode: RegisterMode;
  log: Logger;
  facts: () => Promise<NodeFacts>;
  usage: ReadUsage;
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
  /** Resolves to whether the state belongs to this node. Without that, the Node and its Leases are left alone. */
  settled?: (signal: AbortSignal) => Promise<boolean>;
  /** Called with the result of every renewal: whether this agent may act for the node. */
  onStanding?: (standing: Standing) => void;
  /** Called when the Node was read: whether it belongs to the agent, and its addresses. */
  onNode?: (node: { registered: boolean; addresses: string[] }) => void;
  /** What a new Node gets, by the agent's flags. */
  labels?: NodePicture["labels"];
  taints?: NodePicture["taints"];
  /** Asks for the version of the API server, for `kubeletVersion`. */
  serverVersion?: (signal?: AbortSignal) => Promise<string>;
  /** The port of the kubelet's API, while it is served. */
  kubeletPort?: () => number | undefined;
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

/** How often a Node is read that a kubelet maintains, and the machine for a Node that the agent maintains. */
const slowPeriodMs = 60_000;
/** How often the API server is asked for its version. */
const versionPeriodMs = 3_600_000;

export function createNodeAgent(options: NodeAgentOptions): NodeAgent {
  const { client, node, version, mode, log, free, periodMs = 10_000 } = options;
  const { now = Date.now, steady = steadyNow } = options;
  const { reserved = { cpuPCT: 0, memPCT: 0 } } = options;
  const { ready = () => ({ ready: true, message: "nckubelet runs apps" }) } = options;
  const { kubeletPort = () => undefined, onNode = () => {} } = options;
  const registration = client && createRegistration({ client, node, mode, log, now });
  let usage: NodeUsage | undefined;
  let pressures = noPressure;
  let hardware: Hardware | undefined;
  let pictured = "";
  let picturedAt = -Infinity;

  const annotations = () => {
    const used = usage ?? { cpuPCT: 0, memPCT: 0 };
    return publish({ used, free: free(), reserved, pressure: activePressures(pressures), version });
  };
  const leases = client && createLeaseRenewer({
    client,
    node,
    identity: options.identity,
    log,
    annotations,
    owner: () => registration?.node,
    onMissing: (signal) => attempt("update the Node object", () => checkNode(signal), signal),
    onStanding: options.onStanding,
    periodMs,
    now,
    steady,
  });

  const observeOnce = async () => {
    usage = await options.usage();
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

  let facts: NodeFacts | undefined;
  let factsAt = -Infinity;
  let serverVersion: string | undefined;
  let askedAt = -Infinity;
  const askVersion = async (signal?: AbortSignal) => {
    if (!options.serverVersion || steady() - askedAt < versionPeriodMs) return;
    try {
      [serverVersion, askedAt] = [await options.serverVersion(signal), steady()];
    } catch (error) {
      log.debug("the version of the API server is unknown", { error });
    }
  };
  const picture = async (signal?: AbortSignal): Promise<NodePicture> => {
    await askVersion(signal);
    if (!facts || steady() - factsAt >= slowPeriodMs) [facts, factsAt] = [await options.facts(), steady()];
    const diskBytes = usage?.disk?.totalBytes;
    const { labels, taints } = options;
    const now = { ready: ready(), kubeletPort: kubeletPort(), serverVersion };
    return { name: node, version, facts, hardware, reserved, diskBytes, pressures, labels, taints, ...now };
  };

  let checking: Promise<void> | undefined;
  /** Reads and updates the Node object, one call at a time. */
  const checkNode = (signal?: AbortSignal) =>
    checking ??= readNode(signal).finally(() => checking = undefined);
  const readNode = async (signal?: AbortSignal) => {
    if (!registration || leases?.standing.kind === "taken") return;
    const before = registration.node?.uid;
    const next = aspects();
    const drawn = await picture(signal);
    await registration.syncOnce(drawn, signal);
    [pictured, picturedAt] = [next, steady()];
    onNode({ registered: registration.node?.registered ?? false, addresses: drawn.facts.addresses });
    // Leases of a Node that is gone are deleted: they need their new owner soon.
    if (before && before !== registration.node?.uid) void leases?.renewOnce(signal);
  };

  /** What is written to the Node at once if it changes. */
  const aspects = () => JSON.stringify([ready(), activePressures(pressures), hardware, kubeletPort()]);

  const registerOnce = async (signal?: AbortSignal) => {
    // A node controller that missed Leases marks the Node as not ready, and only its agent corrects that.
    const isDue = registration?.node?.registered || steady() - picturedAt >= slowPeriodMs;
    if (isDue || aspects() !== pictured) await checkNode(signal);
    if (registration?.node?.registered) await findHardware(signal);
  };

  let askHardware = options.hardware;
  const findHardware = async (signal?: AbortSignal) => {
    const ask = askHardware;
    askHardware = undefined;
    hardware ??= await ask?.(signal).catch((error) => void log.debug("the hardware is unknown", { error }));
  };

  const attempt = (what: string, work: () => Promise<void>, signal?: AbortSignal) =>
    work().catch((error) => {
      if (!signal?.aborted) log.warn(`cannot ${what}; trying again`, { error });
    });

  return {
    observeOnce,
    registerOnce,
    renewOnce: async (signal) => await leases?.renewOnce(signal) ?? true,
    state: () => ({ usage, pressures, registered: registration?.node?.registered ?? false }),
    async run(signal) {
      const observe = () => attempt("measure the node", observeOnce, signal);
      const register = () => attempt("update the Node object", () => registerOnce(signal), signal);
      // The first attempt shows whether another agent acts for the node; later ones show the end of an outage.
      let renewed: boolean | undefined;
      const onRenewal = (done: boolean) => {
        if (renewed === undefined || done && !renewed) void register();
        renewed = done;
      };
      const maintainNode = async () => {
        if (!await settled) return;
        await Promise.all([leases?.run(signal, onRenewal), repeat(periodMs, signal, register, log)]);
        await checking?.catch(() => {});
      };
      const settled = options.settled?.(signal) ?? true;
      // The first Lease should contain measured values.
      await observe();
      await Promise.all([repeat(() => observeDelay(usage, periodMs), signal, observe, log), maintainNode()]);
    },
  };
}

/** The closer memory is to running out, the more often it is measured. */
export function observeDelay(usage: NodeUsage | undefined, periodMs: number): number {
  if (!usage) return periodMs;
  const { memoryAvailableBytes, memoryTotalBytes } = usage;
  return memoryAvailableBytes < 2 * memoryThreshold(memoryTotalBytes) ? Math.min(1000, periodMs) : periodMs;
}
