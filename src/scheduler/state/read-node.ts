/** Reads the annotations of agents' Leases. Pure. */
import type { Lease } from "../../kube/lease.ts";
import { parsePublished } from "../../node/published.ts";
import { toPoints } from "../points.ts";
import type { NodeReport } from "../types.ts";

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
