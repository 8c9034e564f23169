/**
 * The node and the cluster that the state folder belongs to. An agent under another name, or at another API server, gets a list
 * without its apps: it must not take that for their deletion.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { KubeClient } from "../kube/client/client.ts";
import { hasStatus } from "../kube/kube-error.ts";
import { namespaces, resourcePath } from "../kube/resources.ts";
import type { KubeObject } from "../kube/wire.ts";
import { readIfExists, writeFileAtomic } from "../lib/files.ts";

export interface NodeRecord {
  /** Of the state folder itself. */
  id: string;
  node: string;
  /** The uid of the namespace kube-system; absent if the agent may not read it. */
  cluster?: string;
}

const fileOf = (stateDir: string) => join(stateDir, "node.json");

/** Returns undefined for a new state folder and a damaged record. */
export async function readNodeRecord(stateDir: string): Promise<NodeRecord | undefined> {
  const text = await readIfExists(fileOf(stateDir));
  try {
    const { id, node, cluster } = JSON.parse(text ?? "{}") as Partial<NodeRecord>;
    return id && node ? { id, node, ...(cluster ? { cluster } : {}) } : undefined;
  } catch {
    return undefined;
  }
}

export async function writeNodeRecord(stateDir: string, record: NodeRecord): Promise<void> {
  await writeFileAtomic(fileOf(stateDir), `${JSON.stringify(record)}\n`);
}

/** Returns the record of an agent that is now this node of this cluster; what is unknown of the same node stays. */
export function nextRecord(
  before: NodeRecord | undefined,
  { node, cluster }: Omit<NodeRecord, "id">,
): NodeRecord {
  const { id = randomUUID().slice(0, 8) } = before ?? {};
  const known = cluster ?? (before?.node === node ? before.cluster : undefined);
  return { id, node, ...(known ? { cluster: known } : {}) };
}

/** Says how the agent's node differs from the recorded one; undefined if it does not, as far as both are known. */
export function nodeChange(
  before: NodeRecord | undefined,
  { node, cluster }: Omit<NodeRecord, "id">,
): string | undefined {
  if (!before) return undefined;
  if (before.node !== node) {
    return `the state of this agent belongs to node ${before.node}, and its node name is now ${node}`;
  }
  if (!cluster || !before.cluster || cluster === before.cluster) return undefined;
  return `the state of this agent belongs to node ${node} of cluster ${before.cluster}, and its API server is of ` +
    `cluster ${cluster} (uid of namespace kube-system)`;
}

/** Reads what identifies the cluster; undefined if the agent may not read it or there is none. Throws a KubeError. */
export async function readCluster(client: KubeClient, signal?: AbortSignal): Promise<string | undefined> {
  try {
    const path = resourcePath(namespaces, { name: "kube-system" });
    const { metadata } = await client.request<KubeObject>({ path, timeoutMs: 10_000, signal });
    return metadata?.uid;
  } catch (error) {
    if (hasStatus(error, 403) || hasStatus(error, 404)) return undefined;
    throw error;
  }
}
