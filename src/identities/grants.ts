/** Which Secrets and ConfigMaps the agent of a node may read: those that apps on it refer to, and no others. Pure. */
import {
  agentNamespace,
  annotations,
  isSafeName,
  systemNamespace,
  systemNamespacePrefix,
} from "../api/names.ts";
import { type References, referencesOf } from "../api/references.ts";
import type { NCAppSpec } from "../api/types.ts";
import type { KubeObject } from "../kube/wire.ts";

interface Meta {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp?: string;
}

/** An NCApp as the API server has it, as far as this depends on it. */
export interface ServedApp extends KubeObject {
  metadata: Meta & { annotations?: Record<string, string> };
  spec: Pick<NCAppSpec, "env" | "nodeName">;
  status?: { nodeName?: string };
}

/** What is kept of it. */
export interface GrantedApp extends References {
  metadata: Meta;
  nodes: string[];
}

/** A namespace and a node. */
export type GrantKey = `${string}/${string}`;

export function grantKey(namespace: string, node: string): GrantKey {
  return `${namespace}/${node}`;
}

export function splitKey(key: GrantKey): { namespace: string; node: string } {
  const [namespace = "", node = ""] = key.split("/");
  return { namespace, node };
}

export function keysOf({ metadata: { namespace }, nodes }: GrantedApp): GrantKey[] {
  return nodes.map((node) => grantKey(namespace, node));
}

/** An object has at most 1.5 MB. The names of apps that came later are left out. */
export const maxNames = 2000;

/**
 * Returns what an app gives its nodes; undefined for one that gives nothing. That is every mirror: agents write them, so a stolen node
 * could name any Secret there. It does not count whether the mark is genuine.
 */
export function grantedApp(object: KubeObject): GrantedApp | undefined {
  const { metadata, spec, status } = object as ServedApp;
  const { namespace, name, uid, resourceVersion, creationTimestamp, annotations: marks } = metadata;
  if (isReserved(namespace) || marks?.[annotations.mirror] !== undefined) return undefined;
  const nodes = [...new Set([spec.nodeName ?? "", status?.nodeName ?? ""])].filter(isSafeName);
  const { secrets, configMaps } = referencesOf(spec);
  if (nodes.length === 0 || secrets.length + configMaps.length === 0) return undefined;
  return {
    metadata: { namespace, name, uid, resourceVersion, creationTimestamp },
    nodes,
    secrets,
    configMaps,
  };
}

/** Namespaces of Kubernetes and our own: no app gets a Secret there. */
function isReserved(namespace: string): boolean {
  return namespace.startsWith(systemNamespacePrefix) || [systemNamespace, agentNamespace].includes(namespace);
}

/** Returns what each node may read in each namespace. */
export function grants(apps: Iterable<GrantedApp>): Map<GrantKey, References> {
  const found = new Map<GrantKey, Set<string>>();
  for (const app of [...apps].sort(byAge)) {
    for (const key of keysOf(app)) {
      const names = found.get(key) ?? new Set();
      found.set(key, names);
      for (const name of [...app.secrets.map(inSecrets), ...app.configMaps]) {
        if (names.size < maxNames) names.add(name);
      }
    }
  }
  return new Map([...found].map(([key, names]) => {
    const [secrets, configMaps] = [
      [...names].filter(isInSecrets),
      [...names].filter((name) => !isInSecrets(name)),
    ];
    return [key, { secrets: secrets.map((name) => name.slice(1)).sort(), configMaps: configMaps.sort() }];
  }));
}

/** No name of an object has a slash. */
const inSecrets = (name: string) => `/${name}`;
const isInSecrets = (name: string) => name.startsWith("/");

/** No change of an app has an effect on the order: a later app takes no name from an earlier one. */
function byAge({ metadata: a }: GrantedApp, { metadata: b }: GrantedApp): number {
  const compare = (one = "", other = "") => one < other ? -1 : one > other ? 1 : 0;
  return compare(a.creationTimestamp, b.creationTimestamp) || compare(a.uid, b.uid);
}
