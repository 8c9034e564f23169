/** The Node object as the agent wants it. Pure. */
import type { V1Node, V1NodeCondition } from "@kubernetes/client-node";
import { withTransitionTime } from "../api/conditions.ts";
import { group, labels as nodeLabels, nodeTaint } from "../api/names.ts";
import type { Wire } from "../kube/wire.ts";
import { isoSeconds } from "../lib/time.ts";
import type { NodeFacts } from "./facts.ts";
import type { Hardware } from "./hardware.ts";
import type { Pressures, PressureState } from "./pressure.ts";
import type { Shares } from "./published.ts";
import { formatBytes, formatCores } from "./quantity.ts";

export type Node = Wire<V1Node>;
export type NodeCondition = Wire<V1NodeCondition>;

/** What is said about a node. */
export interface NodePicture {
  name: string;
  version: string;
  facts: NodeFacts;
  hardware?: Hardware;
  reserved: Shares;
  diskBytes?: number;
  pressures: Pressures;
  ready: { ready: boolean; message: string };
}

/** Annotations of the Node. */
export const nodeAnnotations = {
  /** On Nodes that an agent registered or adopted. */
  registered: `${group}/registered-by`,
  hardware: `${group}/hardware`,
  cpuModel: `${group}/cpu-model`,
} as const;

const mark = "nckubelet";
const versionSuffix = "+nckubelet";

/**
 * Whose Node it is. A kubelet writes its version with the very first status, so a Node without one has nobody yet. Where a
 * kubelet came later its version replaced the agent's.
 */
export function ownerOf(node: Node): "agent" | "kubelet" | "nobody" {
  const version = node.status?.nodeInfo?.kubeletVersion;
  if (version) return version.endsWith(versionSuffix) ? "agent" : "kubelet";
  return node.metadata?.annotations?.[nodeAnnotations.registered] === mark ? "agent" : "nobody";
}

/** A Node for a machine that has none. */
export function newNode(picture: NodePicture, now: number): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: picture.name, labels: labelsOf(picture), annotations: annotationsOf(picture) },
    spec: { taints: [{ ...nodeTaint }] },
    status: nodeStatus({}, picture, now),
  };
}

/** A Node that nobody looked after, as the agent's own: with its labels, its mark and its taint beside what is there. */
export function adopted({ metadata, spec }: Node, picture: NodePicture): Pick<Node, "metadata" | "spec"> {
  const taints = spec?.taints ?? [];
  const has = taints.some(({ key, effect }) => key === nodeTaint.key && effect === nodeTaint.effect);
  return {
    metadata: {
      ...metadata,
      labels: { ...metadata?.labels, ...labelsOf(picture) },
      annotations: { ...metadata?.annotations, ...annotationsOf(picture) },
    },
    spec: { ...spec, taints: has ? taints : [...taints, { ...nodeTaint }] },
  };
}

/** A Node of the agent's own with what must be on it. Other labels and the taint are left to people after the registration. */
export function lookedAfter({ metadata }: Node, picture: NodePicture): Pick<Node, "metadata"> {
  const labels = { ...metadata?.labels, [nodeLabels.node]: "true" };
  return {
    metadata: { ...metadata, labels, annotations: { ...metadata?.annotations, ...annotationsOf(picture) } },
  };
}

/** A kubelet's Node with the agent's label, and without what the agent put there while the Node was its own. */
export function leftToKubelet({ metadata, spec }: Node): Pick<Node, "metadata" | "spec"> {
  const { [nodeAnnotations.registered]: registered, ...annotations } = metadata?.annotations ?? {};
  const labels = { ...metadata?.labels, [nodeLabels.node]: "true" };
  if (registered !== mark) return { metadata: { ...metadata, labels }, spec };
  const taints = spec?.taints?.filter(({ key }) => key !== nodeTaint.key);
  return { metadata: { ...metadata, labels, annotations }, spec: { ...spec, taints } };
}

/** The status of a Node of the agent's own; what others wrote beside it stays. */
export function nodeStatus(
  before: NonNullable<Node["status"]>,
  picture: NodePicture,
  now: number,
): NonNullable<Node["status"]> {
  const { facts, reserved, diskBytes } = picture;
  const left = (share: number) => Math.max(0, 100 - share) / 100;
  // No Pods: without a kubelet nobody would start them.
  const storage: Record<string, string> = diskBytes ? { "ephemeral-storage": formatBytes(diskBytes) } : {};
  const conditions = conditionsOf(picture, now).map((condition) =>
    withTransitionTime(condition, before.conditions, isoSeconds(now))
  );
  const others = (before.conditions ?? []).filter(({ type }) => !conditions.some((own) => own.type === type));
  return {
    ...before,
    capacity: { cpu: formatCores(facts.cpus), memory: formatBytes(facts.memoryBytes), ...storage, pods: "0" },
    allocatable: {
      cpu: formatCores(facts.cpus * left(reserved.cpuPCT)),
      memory: formatBytes(facts.memoryBytes * left(reserved.memPCT)),
      ...storage,
      pods: "0",
    },
    addresses: [
      ...facts.addresses.map((address) => ({ type: "InternalIP", address })),
      { type: "Hostname", address: facts.hostname },
    ],
    nodeInfo: {
      ...before.nodeInfo,
      machineID: facts.machineID,
      systemUUID: facts.systemUUID,
      bootID: facts.bootID,
      kernelVersion: facts.kernelVersion,
      osImage: facts.osImage,
      operatingSystem: facts.operatingSystem,
      architecture: facts.architecture,
      kubeletVersion: `v${picture.version}${versionSuffix}`,
      // The other fields are about containers, and the server fills them with nothing.
    } as NonNullable<Node["status"]>["nodeInfo"],
    conditions: [...conditions, ...others],
  };
}

function labelsOf({ name, facts }: NodePicture): Record<string, string> {
  return {
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": facts.operatingSystem,
    "kubernetes.io/arch": facts.architecture,
    [nodeLabels.node]: "true",
  };
}

function annotationsOf({ hardware }: NodePicture): Record<string, string> {
  const model = hardware && `${hardware.manufacturer} ${hardware.model}`.trim();
  return {
    [nodeAnnotations.registered]: mark,
    ...(model ? { [nodeAnnotations.hardware]: model } : {}),
    ...(hardware?.cpu ? { [nodeAnnotations.cpuModel]: hardware.cpu } : {}),
  };
}

function conditionsOf({ pressures, ready }: NodePicture, now: number): NodeCondition[] {
  const lastHeartbeatTime = isoSeconds(now);
  const pressure = (type: string, what: string, { active, message }: PressureState) => ({
    type,
    status: active ? "True" : "False",
    reason: active ? `Insufficient${what}` : `Sufficient${what}`,
    message: active ? message : `the node has sufficient ${what}`,
    lastHeartbeatTime,
  });
  return [
    pressure("MemoryPressure", "Memory", pressures.memory),
    pressure("DiskPressure", "Disk", pressures.disk),
    pressure("PIDPressure", "PID", pressures.pid),
    {
      type: "Ready",
      status: ready.ready ? "True" : "False",
      reason: ready.ready ? "AgentReady" : "AgentNotReady",
      message: ready.message,
      lastHeartbeatTime,
    },
  ];
}
