/** From a Node object and an agent's Lease to what the scheduler keeps of them. Pure. */
import type { V1Node } from "@kubernetes/client-node";
import type { Lease } from "../../kube/lease.ts";
import type { Wire } from "../../kube/wire.ts";
import { parsePublished } from "../../node/published.ts";
import { toPoints } from "../points.ts";
import type { NodeProperties, NodeReport, Taint } from "../types.ts";

const pressures = { MemoryPressure: "memory", DiskPressure: "disk", PIDPressure: "pid" };

/** Reads a Node. Taints that do not say since when they are there have been since they were first seen. */
export function readNode(node: Wire<V1Node>, known: readonly Taint[], now: number): NodeProperties {
  const conditions = node.status?.conditions ?? [];
  const isTrue = (wanted: string) =>
    conditions.some(({ type, status }) => type === wanted && status === "True");
  return {
    labels: node.metadata?.labels ?? {},
    taints: (node.spec?.taints ?? []).map((taint) => readTaint(taint, known, now)),
    ready: isTrue("Ready"),
    cordoned: node.spec?.unschedulable ?? false,
    pressures: Object.entries(pressures).filter(([type]) => isTrue(type)).map(([, what]) => what),
  };
}

/** Reads what an agent published with its Lease; undefined where it did not. */
export function readReport({ metadata }: Lease, now: number): NodeReport | undefined {
  const published = parsePublished(metadata?.annotations);
  if (!published) return undefined;
  const { used, free, reserved, pressure } = published;
  return {
    at: now,
    cpu: toPoints(used.cpuPCT),
    mem: toPoints(used.memPCT),
    reservedCpu: toPoints(reserved.cpuPCT),
    reservedMem: toPoints(reserved.memPCT),
    freeCpu: toPoints(free.cpuPCT),
    freeMem: toPoints(free.memPCT),
    pressures: pressure,
  };
}

interface NodeTaint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: string;
}

function readTaint(
  { key, value, effect, timeAdded }: NodeTaint,
  known: readonly Taint[],
  now: number,
): Taint {
  const plain = { key, ...(value ? { value } : {}), effect };
  if (effect !== "NoExecute") return plain;
  const before = known.find((taint) => taint.key === key && taint.effect === effect);
  return { ...plain, since: Date.parse(timeAdded ?? "") || before?.since || now };
}
