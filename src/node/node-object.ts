/** The Node object that the agent writes. Pure. */
import type { V1Node, V1NodeCondition } from "@kubernetes/client-node";
import { withTransitionTime } from "../api/conditions.ts";
import { group, isHostOf, labels as nodeLabels, nodeTaint, registeredBy } from "../api/names.ts";
import type { Taint } from "../api/node-labels.ts";
import type { Wire } from "../kube/wire.ts";
import { isoSeconds } from "../lib/time.ts";
import type { NodeFacts } from "./facts.ts";
import type { Hardware } from "./hardware.ts";
import type { Pressures, PressureState } from "./pressure.ts";
import type { Shares } from "./published.ts";
import { formatBytes, formatCores } from "./quantity.ts";

export type Node = Wire<V1Node>;
export type NodeCondition = Wire<V1NodeCondition>;

export interface NodePicture {
  name: string;
  version: string;
  facts: NodeFacts;
  hardware?: Hardware;
  reserved: Shares;
  diskBytes?: number;
  pressures: Pressures;
  ready: { ready: boolean; message: string };
  /** Where the agent serves the kubelet's API; undefined if nowhere. */
  kubeletPort?: number;
  /** What a new Node gets on top of the agent's own. Later they belong to administrators. */
  labels?: Readonly<Record<string, string>>;
  taints?: readonly Taint[];
  /** Of the API server, such as `v1.36.4`; undefined while it is unknown. */
  serverVersion?: string;
}

export const nodeAnnotations = {
  /** On Nodes that an agent registered or adopted. */
  registered: registeredBy,
  hardware: `${group}/hardware`,
  cpuModel: `${group}/cpu-model`,
} as const;

const mark = "nckubelet";
const versionSuffix = "+nckubelet";

/**
 * Returns the owner of a Node. A kubelet writes its version with its first status, so a Node without a version has no owner yet.
 * When a kubelet takes over later, its version replaces the agent's.
 */
export function ownerOf(node: Node): "agent" | "kubelet" | "nobody" {
  const version = node.status?.nodeInfo?.kubeletVersion;
  if (version) return version.endsWith(versionSuffix) ? "agent" : "kubelet";
  return node.metadata?.annotations?.[nodeAnnotations.registered] === mark ? "agent" : "nobody";
}

/**
 * Returns who made a Node. Unlike its version it is no word of the agent that uses it now: the admission policy lets agents set the mark
 * at the creation, and on a Node that has never had a status.
 */
export function makerOf({ metadata, status }: Node): "agent" | "kubelet" | "other" {
  if (metadata?.annotations?.[nodeAnnotations.registered] === mark) return "agent";
  return status?.nodeInfo?.kubeletVersion ? "kubelet" : "other";
}

export function newNode(picture: NodePicture, now: number): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: picture.name,
      labels: { ...picture.labels, ...labelsOf(picture) },
      annotations: annotationsOf(picture),
    },
    spec: { taints: [{ ...nodeTaint }, ...picture.taints ?? []] },
    status: nodeStatus({}, picture, now),
  };
}

/** Returns a Node without an owner as the agent's own: adds its labels, mark and taint to what is there. */
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

/** Returns the agent's own Node with what it must have. Users may change other labels and the taint after the registration. */
export function lookedAfter({ metadata }: Node, picture: NodePicture): Pick<Node, "metadata"> {
  const labels = { ...metadata?.labels, [nodeLabels.node]: "true" };
  return {
    metadata: { ...metadata, labels, annotations: { ...metadata?.annotations, ...annotationsOf(picture) } },
  };
}

/**
 * Returns a kubelet's Node with the agent's label, and without the mark of its owner. The taint stays: who could remove it would get
 * Pods of others, so that is for administrators.
 */
export function leftToKubelet({ metadata }: Node): Pick<Node, "metadata"> {
  const { [nodeAnnotations.registered]: registered, ...annotations } = metadata?.annotations ?? {};
  const labels = { ...metadata?.labels, [nodeLabels.node]: "true" };
  return { metadata: { ...metadata, labels, ...(registered === mark ? { annotations } : {}) } };
}

/** Returns the status of the agent's own Node; fields and conditions of other writers stay. */
export function nodeStatus(
  before: NonNullable<Node["status"]>,
  picture: NodePicture,
  now: number,
): NonNullable<Node["status"]> {
  const { name, facts, reserved, diskBytes, kubeletPort = 0 } = picture;
  const left = (share: number) => Math.max(0, 100 - share) / 100;
  // No Pods: without a kubelet, nothing would start them.
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
      // As kubelets with --hostname-override do.
      { type: "Hostname", address: isHostOf(name, facts.hostname) ? facts.hostname : name },
    ],
    // The API server connects to this port for logs and exec; 0 is none.
    daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
    nodeInfo: {
      ...before.nodeInfo,
      machineID: facts.machineID,
      systemUUID: facts.systemUUID,
      bootID: facts.bootID,
      kernelVersion: facts.kernelVersion,
      osImage: facts.osImage,
      operatingSystem: facts.operatingSystem,
      architecture: facts.architecture,
      kubeletVersion: kubeletVersion(picture),
      // Shown by `kubectl get nodes -o wide`. The server fills the other fields, which are about containers, with empty strings.
      containerRuntimeVersion: `nckubelet://${picture.version}`,
    } as NonNullable<Node["status"]>["nodeInfo"],
    conditions: [...conditions, ...others],
  };
}

/**
 * kubeadm refuses to upgrade a cluster with kubelets that are three minor versions older than the new one. An agent has no such skew: it
 * names the version of its API server.
 */
function kubeletVersion({ serverVersion = "", version }: NodePicture): string {
  const [served] = /^v\d+\.\d+\.\d+/.exec(serverVersion) ?? [];
  return `${served ?? `v${version}`}${versionSuffix}`;
}

function labelsOf({ name, facts }: NodePicture): Record<string, string> {
  return {
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": facts.operatingSystem,
    "kubernetes.io/arch": facts.architecture,
    [nodeLabels.node]: "true",
    [nodeLabels.excludeBalancers]: "",
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
