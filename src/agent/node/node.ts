/** Wires the node's part of the agent: what is free for more apps, and which app is evicted when memory is short. */
import type { KubeClient } from "../../kube/client/client.ts";
import { readServerVersion } from "../../kube/server-version.ts";
import { repeat, sleep } from "../../lib/sleep.ts";
import type { EvictionCandidate } from "../../node/eviction.ts";
import { readNodeFacts } from "../../node/facts.ts";
import { readHardwareInChild } from "../../node/hardware.ts";
import { createNodeAgent, type NodeAgent, type NodeAgentOptions } from "../../node/node-agent.ts";
import type { Shares } from "../../node/published.ts";
import { createUsageReader, type ReadUsage } from "../../node/usage.ts";
import { capsOf } from "../../supervisor/confinement/confinement.ts";
import type { NodeSize } from "../../supervisor/metering.ts";
import type { SupervisedApp, Supervisor } from "../../supervisor/supervisor.ts";
import type { AppRecord } from "../../supervisor/types.ts";
import type { Meter } from "../view/view.ts";
import type { AgentOptions } from "../options.ts";
import type { Membership } from "./membership.ts";
import { createPriorities, type Priorities } from "./priorities.ts";

export { createGate, type Gate, guardSource } from "./gate.ts";
export { createMembership, type Membership } from "./membership.ts";

export interface NodeParts {
  options: AgentOptions;
  client?: KubeClient;
  membership: Pick<Membership, "identity" | "settle" | "onStanding">;
  supervisor: Supervisor;
  meter: Meter;
  size: NodeSize;
  usage?: ReadUsage;
  ready?: () => { ready: boolean; message: string };
  onNode?: NodeAgentOptions["onNode"];
  kubeletPort?: NodeAgentOptions["kubeletPort"];
  now?: () => number;
}

const priorityCheckMs = 10_000;
/** How long the first eviction waits for the classes: without them the wrong app may be evicted. */
const firstPrioritiesMs = 2000;

export function createNode(parts: NodeParts): NodeAgent {
  const { options, client, membership, supervisor, meter, size, now = Date.now } = parts;
  const { log, self, stateDir } = options;
  const priorities = createPriorities({ client, log, now });
  let isRanked = false;
  const apps = () =>
    isRanked ? supervisor.list().flatMap((known) => candidate(known, { meter, size, priorities, now })) : [];
  const node = createNodeAgent({
    client,
    node: options.nodeName,
    identity: membership.identity,
    settled: client && ((signal) => membership.settle(client, signal)),
    onStanding: membership.onStanding,
    version: options.version,
    mode: options.registerNode,
    labels: options.nodeLabels,
    taints: options.nodeTaints,
    serverVersion: client && (async (signal) => (await readServerVersion(client, signal)).text),
    log,
    facts: () => readNodeFacts(),
    usage: parts.usage ?? createUsageReader({ diskPath: stateDir }),
    ...(self
      ? { hardware: (signal?: AbortSignal) => readHardwareInChild([...self, "hardware"], { signal }) }
      : {}),
    reserved: options.reserved,
    free: () => freeShares(supervisor.list(), options.reserved),
    ready: parts.ready,
    onNode: parts.onNode,
    kubeletPort: parts.kubeletPort,
    apps,
    evict: (key, message) => supervisor.evict(key, message),
  });
  const readPriorities = (signal: AbortSignal) =>
    priorities.refresh(supervisor.list().map(({ record }) => record.app.spec.priorityClassName), signal);
  return {
    ...node,
    async run(signal) {
      const first = readPriorities(signal);
      const ranking = Promise.race([first, sleep(firstPrioritiesMs, signal)]).then(() => isRanked = true);
      const refreshing = first.then(() => repeat(priorityCheckMs, signal, () => readPriorities(signal), log));
      await Promise.all([node.run(signal), ranking, refreshing]);
    },
  };
}

/** Returns what remains of the node if every app uses all that it may, after the reserve. Pure. */
export function freeShares(apps: Pick<SupervisedApp, "record">[], reserved: Shares): Shares {
  const taken = apps.map(({ record }) => isSettled(record) ? { cpuPCT: 0, memPCT: 0 } : capsOf(record.app));
  const remaining = (share: "cpuPCT" | "memPCT") =>
    Math.max(0, 100 - reserved[share] - taken.reduce((sum, caps) => sum + (caps[share] ?? 0), 0));
  return { cpuPCT: remaining("cpuPCT"), memPCT: remaining("memPCT") };
}

/** Reports whether the app has ended for good or cannot start, and so uses nothing. */
function isSettled({ phase, invalid, run, app }: AppRecord): boolean {
  const isDeleted = app.metadata.deletionTimestamp !== undefined && !run;
  return phase === "Succeeded" || phase === "Failed" || invalid !== undefined || isDeleted;
}

function candidate(
  known: SupervisedApp,
  { meter, size, priorities, now }: {
    meter: Meter;
    size: NodeSize;
    priorities: Priorities;
    now: () => number;
  },
): EvictionCandidate[] {
  const { key, record: { run, phase, app } } = known;
  if (!run || (phase !== "Running" && phase !== "Stopping")) return [];
  const { memPCT } = capsOf(app);
  return [{
    key,
    priority: priorities.of(app.spec.priorityClassName),
    memoryBytes: meter.latest(known)?.memoryBytes ?? 0,
    ...(memPCT === undefined ? {} : { memoryLimitBytes: memPCT * size.memoryBytes / 100 }),
    ...(run.stop ? { stoppingMs: now() - run.stop.since } : {}),
  }];
}
