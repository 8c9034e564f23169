/** Builds the cluster objects that the scheduler reads, as the API server sends them. */
import type { V1LimitRange, V1Node, V1PriorityClass, V1ResourceQuota } from "@kubernetes/client-node";
import { agentLease, limitRangeKeys, limitRangeType, quotaKeys } from "../../src/api/names.ts";
import type { Lease } from "../../src/kube/lease.ts";
import type { Wire } from "../../src/kube/wire.ts";
import { publish } from "../../src/node/published.ts";
import { objectMeta } from "../builders.ts";

type Amounts = { cpuPCT?: string; memPCT?: string };

const meta = (name: string, namespace?: string) => ({ ...objectMeta(name), namespace });

const keyed = (amounts: Amounts = {}, keys: Record<"cpuPCT" | "memPCT", string>) =>
  Object.fromEntries(
    (["cpuPCT", "memPCT"] as const).flatMap((share) => amounts[share] ? [[keys[share], amounts[share]]] : []),
  );

export function limitRange(
  name: string,
  item: { default?: Amounts; min?: Amounts; max?: Amounts },
  type: string = limitRangeType,
): Wire<V1LimitRange> {
  const limits = {
    type,
    default: keyed(item.default, limitRangeKeys),
    min: keyed(item.min, limitRangeKeys),
    max: keyed(item.max, limitRangeKeys),
  };
  return { metadata: meta(name, "default"), spec: { limits: [limits] } };
}

export function quota(
  name: string,
  hard: Amounts,
  status?: Wire<V1ResourceQuota>["status"],
): Wire<V1ResourceQuota> {
  return {
    metadata: meta(name, "default"),
    spec: { hard: { ...keyed(hard, quotaKeys), pods: "5" } },
    status,
  };
}

export function priorityClass(
  name: string,
  value: number,
  more: Partial<V1PriorityClass> = {},
): Wire<V1PriorityClass> {
  return { metadata: meta(name), value, ...more } as Wire<V1PriorityClass>;
}

export function node(
  name: string,
  { spec = {}, ready = true, ...metadata }: {
    spec?: object;
    ready?: boolean;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  } = {},
): Wire<V1Node> {
  const conditions = [{ type: "Ready", status: ready ? "True" : "False" }];
  return { metadata: { ...meta(name), ...metadata }, spec, status: { conditions } } as Wire<V1Node>;
}

/** An agent's Lease, renewed at `renewedAt` (ms since the epoch); `published`: the usage that it publishes, in percent. */
export function lease(
  name: string,
  renewedAt: number,
  published?: { used?: number; free?: number; reserved?: number },
  seconds = 40,
): Lease {
  const shares = (percent: number) => ({ cpuPCT: percent, memPCT: percent });
  const annotations = published && publish({
    used: shares(published.used ?? 0),
    free: shares(published.free ?? 100),
    reserved: shares(published.reserved ?? 0),
    pressure: [],
    version: "test",
  });
  return {
    metadata: { ...meta(agentLease(name), "kube-node-lease"), annotations },
    spec: {
      holderIdentity: name,
      leaseDurationSeconds: seconds,
      renewTime: new Date(renewedAt).toISOString(),
    },
  };
}
