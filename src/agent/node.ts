/**
 * The node's part, wired: what is free for more apps, and which app goes when the machine runs short of memory.
 */
import type { KubeClient } from "../kube/client.ts";
import type { EvictionCandidate } from "../node/eviction.ts";
import { readNodeFacts } from "../node/facts.ts";
import { createNodeAgent, type NodeAgent } from "../node/node-agent.ts";
import type { Shares } from "../node/published.ts";
import { createUsageReader } from "../node/usage.ts";
import { capsOf } from "../supervisor/caps.ts";
import type { NodeSize } from "../supervisor/metering.ts";
import type { SupervisedApp, Supervisor } from "../supervisor/supervisor.ts";
import type { AppRecord } from "../supervisor/types.ts";
import type { Meter } from "./meter.ts";
import type { AgentOptions } from "./options.ts";

export interface NodeParts {
  options: AgentOptions;
  client?: KubeClient;
  supervisor: Supervisor;
  meter: Meter;
  size: NodeSize;
  now?: () => number;
}

/** Makes the node's part of the agent from the others. */
export function createNode(
  { options, client, supervisor, meter, size, now = Date.now }: NodeParts,
): NodeAgent {
  return createNodeAgent({
    client,
    node: options.nodeName,
    version: options.version,
    mode: options.registerNode,
    log: options.log,
    facts: () => readNodeFacts(),
    usage: createUsageReader({ diskPath: options.stateDir }),
    reserved: options.reserved,
    free: () => freeShares(supervisor.list(), options.reserved),
    apps: () => supervisor.list().flatMap((known) => evictionCandidate(known, meter, size, now())),
    evict: (key, message) => supervisor.evict(key, message),
  });
}

/** What is left of the node when every app takes all that it may, and the reserve is kept. Pure. */
export function freeShares(apps: Pick<SupervisedApp, "record">[], reserved: Shares): Shares {
  const taken = apps.map(({ record }) => isSettled(record) ? { cpuPCT: 0, memPCT: 0 } : capsOf(record.app));
  const left = (share: "cpuPCT" | "memPCT") =>
    Math.max(0, 100 - reserved[share] - taken.reduce((sum, caps) => sum + (caps[share] ?? 0), 0));
  return { cpuPCT: left("cpuPCT"), memPCT: left("memPCT") };
}

/** An app that has ended for good, or that will not begin, takes nothing. */
function isSettled({ phase, invalid }: AppRecord): boolean {
  return phase === "Succeeded" || phase === "Failed" || invalid !== undefined;
}

function evictionCandidate(
  { key, record }: SupervisedApp,
  meter: Meter,
  size: NodeSize,
  now: number,
): EvictionCandidate[] {
  const { run, phase, app } = record;
  if (!run || (phase !== "Running" && phase !== "Stopping")) return [];
  const { memPCT } = capsOf(app);
  return [{
    key,
    // A class is a number at the API server only; an app without a known one counts as the others.
    priority: 0,
    memoryBytes: meter.latest(key)?.memoryBytes ?? 0,
    ...(memPCT === undefined ? {} : { memoryLimitBytes: memPCT * size.memoryBytes / 100 }),
    ...(run.stop ? { stoppingMs: now - run.stop.since } : {}),
  }];
}
