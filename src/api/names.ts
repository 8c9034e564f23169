/**
 * The names that NC-Kubelet shares with the API server and its users: group, kinds, annotations, labels, leases,
 * identities. RBAC, CRD and code all use these, so they cannot disagree.
 */

export const group = "app.example.com";
/** The version that this program speaks and that API servers store. */
export const version = "v1alpha1";
export const apiVersion = `${group}/${version}`;
/** Every version that is served and accepted; all have the same schema ([record 27](../../docs/decisions/0027-versions.md)). */
export const versions = [version, "v1beta1"] as const;
export const apiVersions = [apiVersion, `${group}/v1beta1`] as const;
export const kind = "NCApp";
export const listKind = "NCAppList";
export const plural = "ncapps";
export const singular = "ncapp";
export const shortName = "nca";
export const crdName = `${plural}.${group}`;

export const setKind = "NCAppSet";
export const setListKind = "NCAppSetList";
export const setPlural = "ncappsets";
export const setSingular = "ncappset";
export const setShortName = "ncas";
export const setCrdName = `${setPlural}.${group}`;

/** What the apps of a namespace may be. Administrators write it; no role for tenants may. */
export const policyKind = "NCAppPolicy";
export const policyListKind = "NCAppPolicyList";
export const policyPlural = "ncapppolicies";
export const policySingular = "ncapppolicy";
export const policyShortName = "ncap";
export const policyCrdName = `${policyPlural}.${group}`;

/** The scheduler of NCApps that name no other. */
export const defaultSchedulerName = "nc-scheduler";
/** The API server records it in `managedFields` as the manager of what a scheduler writes. */
export const schedulerManager = "nckubelet-scheduler";
/** The namespace of an NCApp that names none. */
export const defaultNamespace = "default";

/** Annotations on NCApps. */
export const annotations = {
  /** A new value restarts the app. Any text; by convention the current time. */
  restartedAt: `${group}/restartedAt`,
  /** A new value undoes the version in force, as `nckubelet undo` does. Any text; by convention the current time. */
  undoneAt: `${group}/undoneAt`,
  /** Marks a mirror: the API server's copy of an app that a node got from a file, a URL or the socket. */
  mirror: `${group}/config.mirror`,
  /** On a mirror: the name of its app. */
  mirrorOf: `${group}/config.mirror-of`,
  /** On a mirror: its own uid, which proves it. A copy of a mirror has another uid. */
  mirrorUid: `${group}/config.mirror-uid`,
  /** Size at which the app's log is rotated, such as `10Mi`. */
  logMaxSize: `${group}/log-max-size`,
  /** Number of log files to keep, including the current one. */
  logMaxFiles: `${group}/log-max-files`,
  /** On an app of a set: when the set created it or last updated it. */
  updatedAt: `${group}/updated-at`,
  /** On an app of a set: the hash of what the set wrote, its template with the overrides of its node. */
  written: `${group}/written`,
  /** On an app of a job: what the set knows of its runs. */
  run: `${group}/run`,
} as const;

/** How much of a log is kept unless flags or annotations say otherwise; launcher/launcher.c assumes the same. */
export const usualLog = { maxSize: "10Mi", maxFiles: "5" } as const;

/** Returns the name and uid of the NCAppSet that owns an object. */
export function ownerSet({ metadata }: { metadata: object }): { name: string; uid: string } | undefined {
  const { ownerReferences = [] } = metadata as {
    ownerReferences?: { kind: string; name: string; uid: string }[];
  };
  return ownerReferences.find((owner) => owner.kind === setKind);
}

/** On the Roles that let the agent of a node read the Secrets of its apps, and on their bindings: the node. */
export const grantAnnotation = `${group}/node`;

/** Annotations on NCAppSets. */
export const setAnnotations = {
  /** The name of the revision that may go beyond its canary. */
  promote: `${group}/promote`,
  /** Any new text: the failed apps of a job run again. */
  retry: `${group}/retry`,
} as const;

/** The finalizer of bound NCApps: the scheduler removes it when no node runs the app any more. */
export const nodeFinalizer = `${group}/node`;

type Marked = { metadata: { name: string; uid?: string; annotations?: Record<string, string> } };

/** Reports whether the object carries the uid that its agent wrote into it: it is certainly a mirror, and no copy of one. */
export function isProvenMirror({ metadata }: Marked): boolean {
  const { [annotations.mirror]: mark, [annotations.mirrorUid]: uid } = metadata.annotations ?? {};
  return mark !== undefined && uid !== undefined && uid === metadata.uid;
}

/**
 * Reports whether an agent made the object as a mirror of a local app. A copy (`kubectl get -o yaml | kubectl apply`) is an
 * ordinary app. An object without a uid in it counts if it has the exact form of a mirror: an agent may be killed before it writes
 * the uid.
 */
export function isMirror(app: Marked): boolean {
  const { [annotations.mirror]: mark, [annotations.mirrorOf]: name, [annotations.mirrorUid]: uid } =
    app.metadata.annotations ?? {};
  if (uid !== undefined) return isProvenMirror(app);
  const [, node] = /^(.+)\/[0-9a-f]{16}$/.exec(mark ?? "") ?? [];
  return node !== undefined && name !== undefined &&
    (app.metadata.name === name || app.metadata.name.endsWith(`-${node}`));
}

/** Reports whether the object is a mirror of an app on this node. */
export function isMirrorOf(node: string, app: Marked & { spec?: { nodeName?: string } }): boolean {
  const mark = app.metadata.annotations?.[annotations.mirror] ?? "";
  return app.spec?.nodeName === node && mark.startsWith(`${node}/`) && isMirror(app);
}

/** kubectl's copy of the whole applied manifest, including the values of variables. */
export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * On Pods: marks one that the API server did not give to a node but got from it. Such a Pod has no service account and no volumes
 * with Secrets, and `kubectl drain` skips it. Pods of apps that stay on their node have it.
 */
export const podMirrorAnnotation = "kubernetes.io/config.mirror";
/** On Pods: marks one of an app that a drain moves. Its eviction moves the app. */
export const podMarkAnnotation = `${group}/pod`;
/** The name of the one container that the Pod of an app has. */
export const podContainer = "app";

/** Labels on the apps and ControllerRevisions of a set. */
export const setLabels = {
  /** The hash of the revision, which is the end of its name. */
  revision: `${group}/revision`,
} as const;

/** The label that names an application, as Helm and kustomize set it. Apps of a namespace with the same one are spread. */
export const nameLabel = "app.kubernetes.io/name";

/** On the same Roles and bindings, which are found by it. */
export const grantLabel = `${group}/grant`;

/** Labels on Nodes. */
export const labels = {
  /** `"true"` on every Node that has an agent. */
  node: `${group}/nckubelet`,
  /** Load balancers of clouds send nothing to a Node with this label. */
  excludeBalancers: "node.kubernetes.io/exclude-from-external-load-balancers",
} as const;

/** The taint on Nodes that an agent registered. It keeps Pods away. */
export const nodeTaint = { key: labels.node, effect: "NoSchedule" } as const;

/** The annotation on Nodes that an agent made or adopted. */
export const registeredBy = `${group}/registered-by`;

/** The label of namespaces: `"false"` for no Pods that show apps; `"true"` where `--pods labelled` of the manifests requires it. */
export const podsLabel = `${group}/pods`;

/** The component in the events of agents. */
export const agentComponent = "nckubelet";

/** How the names of namespaces begin that belong to Kubernetes itself. No app is shown as a Pod there. */
export const systemNamespacePrefix = "kube-";

/** The namespace of the agents' Leases. Every API server creates it for the Leases of kubelets. */
export const leaseNamespace = "kube-node-lease";
/** The namespace of the scheduler, its service account and its leader election. */
export const systemNamespace = "nckubelet";
/** The Lease for the leader election of schedulers, in `systemNamespace`. */
export const schedulerLease = "nc-scheduler";
/** The Lease of the process that rolls out NCAppSets, in `systemNamespace`. */
export const setsLease = "nckubelet-sets";

/** The Lease of the process that approves the certificates of agents, in `systemNamespace`. */
export const identitiesLease = "nckubelet-identities";

/** Returns the election Lease of a scheduler. Schedulers with another name bind other apps and elect their own leader. */
export function electionLease(schedulerName: string): string {
  return schedulerName === defaultSchedulerName ? schedulerLease : `${schedulerLease}-${schedulerName}`;
}

/** Returns the Lease that the agent of a node renews, in `leaseNamespace`. */
export function agentLease(node: string): string {
  return `nckubelet-${node}`;
}

/**
 * Returns what is wrong with the name of a node, if anything. The node `nckubelet-a` would have the Lease that belongs to the agent of
 * node `a`.
 */
export function nodeNameProblem(name: string): string | undefined {
  if (!isSafeName(name)) {
    return "not a node name (lowercase letters, digits, '-' and '.')";
  }
  if (name.startsWith(agentLease(""))) {
    return `must not begin with ${agentLease("")}: its Lease would be that of the agent of node ` +
      `${JSON.stringify(name.slice(agentLease("").length))}`;
  }
  return undefined;
}

/**
 * Reports whether a host name is the name of a node, or that with a domain. No other is in its Node and its certificate: what a machine
 * calls itself is no proof.
 */
export function isHostOf(node: string, host: string): boolean {
  return host === node || host.startsWith(`${node}.`);
}

interface Named {
  metadata?: { name?: string };
}

/** The namespace contains the Leases of kubelets as well. */
export function isAgentLease({ metadata }: Named): boolean {
  return metadata?.name?.startsWith(agentLease("")) ?? false;
}

/** Returns the node whose agent renews the Lease. */
export function nodeOfLease({ metadata }: Named): string {
  return (metadata?.name ?? "").slice(agentLease("").length);
}

/** The group of the bootstrap tokens with which new nodes request their certificates. */
export const bootstrapGroup = "system:bootstrappers:nckubelet";

/** Who signs an agent's certificates: kube-controller-manager has both signers. */
export const clientSigner = "kubernetes.io/kube-apiserver-client";
export const servingSigner = "kubernetes.io/kubelet-serving";

/** The subject that the signer of serving certificates requires. It is no identity: the certificate is for servers only. */
export const servingGroup = "system:nodes";
export function servingUser(node: string): string {
  return `system:node:${node}`;
}

/** The group of every agent's client certificate. */
export const agentGroup = "nckubelet:agents";
/** The namespace whose service accounts are agents, each named like its node. */
export const agentNamespace = "nckubelet-agents";
/** The group of those service accounts. */
export const agentAccounts = `system:serviceaccounts:${agentNamespace}`;

/** The service account of the controllers' Deployment, in `systemNamespace`; named as the first of its roles. */
export const controllerAccountName = "nckubelet-scheduler";
/** The service account of the Deployment that approves certificates: no other controller needs what it may. */
export const identitiesAccountName = "nckubelet-identities";
/** The users that they are. */
export const controllerAccount = `system:serviceaccount:${systemNamespace}:${controllerAccountName}`;
export const identitiesAccount = `system:serviceaccount:${systemNamespace}:${identitiesAccountName}`;
/** The group in the client certificate of a scheduler that runs outside the cluster. */
export const schedulerGroup = "nckubelet:schedulers";

/** Returns the user in the client certificate of a node's agent. */
export function agentUser(node: string): string {
  return `nckubelet:${node}`;
}

/** Returns the node whose agent has this user name and these groups; undefined for all other users. */
export function nodeOfAgent(username: string, groups: readonly string[]): string | undefined {
  const forms = [
    { prefix: agentUser(""), group: agentGroup },
    { prefix: `system:serviceaccount:${agentNamespace}:`, group: agentAccounts },
  ];
  const form = forms.find(({ prefix, group }) => username.startsWith(prefix) && groups.includes(group));
  return form && username.slice(form.prefix.length);
}

/** Returns the name of the ConfigMap, in `agentNamespace`, that records whose certificate has the name of a node. */
export function claimName(node: string): string {
  return `nckubelet-${node}`;
}

/** The data of such a ConfigMap. */
export const claimKeys = ["key", "since", "invited", "node", "names", "namedAt"] as const;

/** How the names of the Roles begin with which the agent of a node reads the Secrets of its apps; a digest of the node follows. */
export const grantPrefix = "nckubelet-node-";

/** The ConfigMap there with the nodes whose agents may write nothing, each with the reason. */
export const refusedNodes = "refused-nodes";

/** Returns the audience of tokens for the agent of one node: nothing else accepts them. */
export function nodeAudience(node: string): string {
  return `nckubelet:${node}`;
}

/** The audience of tokens for the endpoint of the controllers. */
export const controllerAudience = "nckubelet-controller";

/**
 * ResourceQuota keys that cap the shares bound in a namespace. Kubernetes counts Pods under names that begin with `requests.`, and takes
 * only whole numbers under others.
 */
export const quotaKeys = {
  cpuPCT: `${group}/cpuPCT`,
  memPCT: `${group}/memPCT`,
} as const;
/** Their earlier names, read until 0.2. They limit as those do, but their `used` is what Kubernetes writes: 0. */
export const oldQuotaKeys = {
  cpuPCT: `requests.${group}/cpuPCT`,
  memPCT: `requests.${group}/memPCT`,
} as const;
/** The LimitRange item type that applies to NCApps. */
export const limitRangeType = `${group}/${kind}`;
/** LimitRange keys under `default`, `min` and `max`; the API server rejects names without a prefix. */
export const limitRangeKeys = {
  cpuPCT: `${group}/cpuPCT`,
  memPCT: `${group}/memPCT`,
} as const;

/** Returns the key of an app in queues, logs and messages: `default/web`. */
export function appKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** Returns the `appKey` of an app. A manifest may lack the namespace; objects of the API server always have it. */
export function keyOf({ metadata }: { metadata: { namespace?: string; name: string } }): string {
  return appKey(metadata.namespace || defaultNamespace, metadata.name);
}

export function splitAppKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf("/");
  if (slash < 1 || slash === key.length - 1) throw new Error(`not an app key: ${JSON.stringify(key)}`);
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/**
 * Reports whether a name is a DNS-1123 subdomain of at most 253 characters, like the names of Kubernetes objects. Such a
 * name has no slash, no leading dot and no `..`, so it is safe as one component of a path.
 */
export function isSafeName(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name);
}

/** Reports whether a name is a DNS-1123 label of at most 63 characters, like Kubernetes namespaces. */
export function isSafeNamespace(name: string): boolean {
  return name.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name);
}

/** Reports whether a uid is safe as part of a path. Uids of API servers and of the agent are. */
export function isSafeUid(uid: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/.test(uid);
}
