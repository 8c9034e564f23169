/**
 * The names that NC-Kubelet shares with the API server and with people: group, kinds, annotations, labels,
 * leases, identities. Everything else takes them from here, so that RBAC, CRD and code cannot disagree.
 */

export const group = "app.example.com";
export const version = "v1alpha1";
export const apiVersion = `${group}/${version}`;
export const kind = "NCApp";
export const listKind = "NCAppList";
export const plural = "ncapps";
export const singular = "ncapp";
export const shortName = "nca";

/** The scheduler that takes NCApps which name no other. */
export const defaultSchedulerName = "nc-scheduler";
/** The namespace of an NCApp that names none. */
export const defaultNamespace = "default";

/** Annotations on NCApps. */
export const annotations = {
  /** A new value restarts the app; any text, by convention the time. */
  restartedAt: `${group}/restartedAt`,
  /** Marks the API server's copy of an app that its node got from a file, a URL or the socket. */
  mirror: `${group}/config.mirror`,
  /** Size at which the app's log is rotated, such as `10Mi`. */
  logMaxSize: `${group}/log-max-size`,
  /** How many rotated logs of the app are kept. */
  logMaxFiles: `${group}/log-max-files`,
} as const;

/** kubectl's copy of a whole manifest as it was applied, with the values of its variables. */
export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** Labels on Nodes. */
export const labels = {
  /** `"true"` on every Node that has an agent. */
  node: `${group}/nckubelet`,
} as const;

/** The taint on Nodes that an agent registered itself, so that Pods stay away. */
export const nodeTaint = { key: labels.node, effect: "NoSchedule" } as const;

/** Where the agents' Leases are: beside the kubelets' own, in a namespace that every API server creates. */
export const leaseNamespace = "kube-node-lease";
/** The namespace of the scheduler, its service account and its leader election. */
export const systemNamespace = "nckubelet";
/** The Lease by which schedulers elect their leader, in `systemNamespace`. */
export const schedulerLease = "nc-scheduler";

/** The same for schedulers of any name: those of another name take other apps, and have a leader of their own. */
export function electionLease(schedulerName: string): string {
  return schedulerName === defaultSchedulerName ? schedulerLease : `${schedulerLease}-${schedulerName}`;
}

/** The Lease that the agent of a node renews, in `leaseNamespace`. */
export function agentLease(node: string): string {
  return `nckubelet-${node}`;
}

/** The group of every agent's client certificate. */
export const agentGroup = "nckubelet:agents";
/** The namespace whose service accounts are agents, each named as its node. */
export const agentNamespace = "nckubelet-agents";

/** The group of a scheduler that runs outside of the cluster, by its client certificate. */
export const schedulerGroup = "nckubelet:schedulers";

/** The user in the client certificate of a node's agent. */
export function agentUser(node: string): string {
  return `nckubelet:${node}`;
}

/** ResourceQuota keys that cap the points bound in a namespace. */
export const quotaKeys = {
  cpuPCT: `requests.${group}/cpuPCT`,
  memPCT: `requests.${group}/memPCT`,
} as const;
/** The LimitRange item type that applies to NCApps. */
export const limitRangeType = `${group}/${kind}`;
/** LimitRange keys under `default`, `min` and `max`; the API server refuses names without a prefix. */
export const limitRangeKeys = {
  cpuPCT: `${group}/cpuPCT`,
  memPCT: `${group}/memPCT`,
} as const;

/** How an app is named in queues, logs and messages: `default/web`. */
export function appKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The `appKey` of an app. Objects of the API server always have a namespace; in a manifest it may be missing. */
export function keyOf({ metadata }: { metadata: { namespace?: string; name: string } }): string {
  return appKey(metadata.namespace || defaultNamespace, metadata.name);
}

/** Takes an `appKey` apart. */
export function splitAppKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf("/");
  if (slash < 1 || slash === key.length - 1) throw new Error(`not an app key: ${JSON.stringify(key)}`);
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/**
 * True for a DNS-1123 subdomain of at most 253 characters, as Kubernetes has object names. Such a name holds no
 * slash, no leading dot and no `..`, so it is safe as one component of a path.
 */
export function isSafeName(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name);
}

/** True for a DNS-1123 label of at most 63 characters, as Kubernetes has namespaces. */
export function isSafeNamespace(name: string): boolean {
  return name.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name);
}

/** True for a uid that may become part of a path: what API servers give out, and what the agent makes itself. */
export function isSafeUid(uid: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/.test(uid);
}
