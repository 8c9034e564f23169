/** The objects that the identities controller reads, as far as it uses them. */
import { agentNamespace, type claimKeys, claimName } from "../api/names.ts";
import type { KubeObject } from "../kube/wire.ts";

type Meta = { name: string; uid: string; resourceVersion: string; creationTimestamp?: string };

export interface RequestObject extends KubeObject {
  metadata: Meta;
  spec: {
    signerName: string;
    username?: string;
    groups?: string[];
    usages?: string[];
    /** Base64 of PEM. */
    request: string;
  };
  status?: { conditions?: Condition[]; certificate?: string };
}

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastUpdateTime?: string;
}

/**
 * The record of whose key has the name of a node. Administrators create empty ones as invitations. `key`: `sha256:HEX` of the public key;
 * `since`: when it got the name; `invited`: `true` if an administrator lets it have the name of a kubelet's Node; `node`: the uid of the
 * Node that came of it; `names`: what the last serving certificate is for, with spaces between; `namedAt`: when that was approved.
 */
export interface ClaimObject extends KubeObject {
  metadata: Meta & { namespace: string };
  data?: Partial<Record<typeof claimKeys[number], string>>;
}

/** The ConfigMap with a reason for each node whose agent may write nothing: a policy reads it. */
export interface RefusedNodes extends KubeObject {
  metadata: Meta & { namespace: string };
  data?: Record<string, string>;
}

/** Longer requests are no agent's: the rest of one is not kept, and what is left is refused. */
const longestKept = 8192;

/** Returns what is kept of a request in memory: its text only until it is decided. */
export function slimRequest({ metadata, spec, status }: RequestObject): RequestObject {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  const { signerName, username, groups, usages } = spec;
  const decided = status?.conditions?.length ?? 0;
  return {
    metadata: { name, uid, resourceVersion, creationTimestamp },
    spec: {
      signerName,
      username,
      groups,
      usages,
      request: decided ? "" : spec.request.slice(0, longestKept),
    },
    status: { conditions: status?.conditions, certificate: status?.certificate && "issued" },
  };
}

/** Returns the node of a claim; undefined for other ConfigMaps of the namespace. */
export function nodeOfClaim({ metadata }: ClaimObject): string | undefined {
  const prefix = claimName("");
  return metadata.name.startsWith(prefix) ? metadata.name.slice(prefix.length) : undefined;
}

/** How long a name without a Node stays with the key that got it. */
export const pendingMs = 24 * 3_600_000;

/** When a key got the name. */
export function claimedAt({ data, metadata }: ClaimObject): number {
  return Date.parse(data?.since ?? metadata.creationTimestamp ?? "") || Date.now();
}

export function newClaim(
  node: string,
  data: ClaimObject["data"],
): KubeObject & { data: ClaimObject["data"] } {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: claimName(node), namespace: agentNamespace },
    data,
  };
}
