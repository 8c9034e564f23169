/** Reads Node objects and the annotations of agents' Leases. Pure. */
import type { V1Node } from "@kubernetes/client-node";
import type { Lease } from "../../kube/lease.ts";
import type { Wire } from "../../kube/wire.ts";
import { parsePublished } from "../../node/published.ts";
import { toPoints } from "../points.ts";
import type { NodeProperties, NodeReport, Taint } from "../types.ts";

const pressures = { MemoryPressure: "memory", DiskPressure: "disk", PIDPressure: "pid" };

/** Reads a Node. A NoExecute taint without `timeAdded` counts from when it was first seen, as in `known`. */
export function readNode(node: Wire<V1Node>, known: readonly Taint[], now: number): NodeProperties {
  const conditions = node.status?.conditions ?? [];
  const isTrue = (condition: string) =>
    conditions.some(({ type, status }) => type === condition && status === "True");
  return {
    labels: node.metadata?.labels ?? {},
    taints: (node.spec?.taints ?? []).map((taint) => readTaint(taint, known, now)),
    ready: isTrue("Ready"),
    cordoned: node.spec?.unschedulable ?? false,
    pressures: Object.entries(pressures).filter(([type]) => isTrue(type)).map(([, resource]) => resource),
  };
}

/** Reads what an agent published in its Lease; undefined if nothing. */
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
