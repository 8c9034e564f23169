/**
 * The Pod of an app, without its status. Pure.
 *
 * Its mark is a digest of its spec: a Pod with another mark is replaced. The Pod of an app that a drain moves is one that kubectl and
 * the eviction API handle as any other; that of an app that stays has the annotation of mirror Pods, which they leave alone.
 */
import { hash } from "node:crypto";
import type { V1Pod } from "@kubernetes/client-node";
import type { RunnableApp } from "../../api/app-shapes.ts";
import {
  apiVersion,
  defaultNamespace,
  group,
  kind,
  lastAppliedAnnotation,
  podContainer,
  podMarkAnnotation,
  podMirrorAnnotation,
  setKind,
} from "../../api/names.ts";
import { parsePercent } from "../../api/percent.ts";
import { showURL } from "../../api/shown-spec.ts";
import type { DefaultedSpec, NCApp, NCAppStatus } from "../../api/types.ts";
import type { Wire } from "../../kube/wire.ts";

export type Pod = Wire<V1Pod>;

/** An app with the NCApp that shows it in the API server: its own, or the mirror of a local app. */
export interface ShownApp {
  owner: { namespace: string; name: string; uid: string };
  app: RunnableApp;
  status: NCAppStatus;
  /** It runs, and its startup probe, if it has one, has passed. */
  started: boolean;
  /** A drain of its node moves it. */
  movable?: boolean;
  /** The set that controls it. */
  set?: { name: string; uid: string };
}

export interface PodNode {
  name: string;
  /** What the percentages of caps are of. */
  size: { cpus: number; memoryBytes: number };
  /** The node's own addresses, at most one of each family: apps have no others. */
  addresses: string[];
}

/** There is no image: the node runs a script. */
export const podImage = "nckubelet/script";

/** Returns the Pod as it is created. The API server ignores the status of a new Pod. */
export function newPod(
  { owner, app, movable, set }: Pick<ShownApp, "owner" | "app" | "movable" | "set">,
  node: Pick<PodNode, "name" | "size">,
  name: string,
): Pod {
  const mark = movable ? podMarkAnnotation : podMirrorAnnotation;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: owner.namespace || defaultNamespace,
      name,
      labels: podLabels(app),
      annotations: { ...podAnnotations(app), [mark]: podMark({ app, movable, set }, node) },
      ownerReferences: ownersOf(owner, set),
    },
    spec: podSpec(app.spec, node),
  };
}

/**
 * With a controller, so that no ReplicaSet with a fitting selector adopts it. Without blockOwnerDeletion, which needs rights. For the
 * app of a set it is the set, whose scale tells budgets with `maxUnavailable` how many Pods there should be.
 */
function ownersOf(owner: ShownApp["owner"], set: ShownApp["set"]): OwnerReferences {
  const own = { apiVersion, kind, name: owner.name, uid: owner.uid };
  if (!set) return [{ ...own, controller: true }];
  return [{ apiVersion, kind: setKind, name: set.name, uid: set.uid, controller: true }, own];
}

type OwnerReferences = NonNullable<NonNullable<Pod["metadata"]>["ownerReferences"]>;

export function podLabels({ metadata }: Pick<NCApp, "metadata">): Record<string, string> {
  return metadata.labels ?? {};
}

/** The app's annotations without those that are for the agent, and without kubectl's copy of the manifest and its values. */
export function podAnnotations({ metadata }: Pick<NCApp, "metadata">): Record<string, string> {
  const isHidden = (name: string) =>
    name === lastAppliedAnnotation || name.startsWith(`${group}/`) ||
    name.startsWith("kubernetes.io/config.");
  return Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([name]) => !isHidden(name)));
}

/**
 * Returns the mark of the Pod that the app should have. The two kinds of Pods have different marks: an app that is pinned, or that
 * another set controls, gets a new one.
 */
export function podMark(
  { app, movable, set }: Pick<ShownApp, "app" | "movable" | "set">,
  node: Pick<PodNode, "name" | "size">,
): string {
  const spec = podSpec(app.spec, node);
  return (movable ? "movable-" : "") + digest(JSON.stringify(set ? [spec, set.uid] : spec)).slice(0, 16);
}

/** Returns a name for the app's Pod where another Pod has the app's own; the same for the same app and node. */
export function otherPodName(app: string, namespace: string, node: string): string {
  const suffix = `-${digest(`${node}/${namespace}/${app}`).slice(0, 5)}`;
  return app.slice(0, 253 - suffix.length).replace(/[^a-z0-9]+$/, "") + suffix;
}

/** Arguments and variables may hold secrets: the Pod has none of them. */
function podSpec(
  spec: DefaultedSpec,
  { name, size }: Pick<PodNode, "name" | "size">,
): NonNullable<Pod["spec"]> {
  const { shellFile, ports = [], restartPolicy, terminationGracePeriodSeconds } = spec;
  const amounts = podAmounts(spec, size);
  return {
    nodeName: name,
    restartPolicy,
    // With 0 the server removes a Pod at once, and `kubectl drain` would not wait for the end of the app.
    terminationGracePeriodSeconds: Math.max(1, terminationGracePeriodSeconds),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // Otherwise the taints of a node that is not ready would have it deleted.
    tolerations: [{ operator: "Exists" }],
    containers: [{
      name: podContainer,
      image: podImage,
      imagePullPolicy: "Never",
      ...(shellFile ? { command: [showURL(shellFile)] } : {}),
      ...(amounts ? { resources: { requests: amounts, limits: amounts } } : {}),
      ...(isRestricted(spec) ? { securityContext: restrictedContext } : {}),
      ...(ports.length > 0
        ? {
          ports: ports.map(({ name, port, protocol }) => ({
            ...(name ? { name } : {}),
            containerPort: port,
            protocol,
          })),
        }
        : {}),
    }],
  };
}

/** The caps of the app as amounts of its node; undefined without caps. At least what the API server takes for more than nothing. */
export function podAmounts(
  { cpuPCT, memPCT }: Pick<DefaultedSpec, "cpuPCT" | "memPCT">,
  { cpus, memoryBytes }: PodNode["size"],
): { cpu?: string; memory?: string } | undefined {
  const [cpu, memory] = [parsePercent(cpuPCT), parsePercent(memPCT)];
  if (cpu === undefined && memory === undefined) return undefined;
  return {
    ...(cpu === undefined ? {} : { cpu: `${Math.max(1, Math.round(cpu * cpus * 10))}m` }),
    ...(memory === undefined ? {} : { memory: `${Math.max(1, Math.floor(memory * memoryBytes / 100))}` }),
  };
}

/** Reports whether the app is held as Pod Security `restricted` asks: another user than root, whom nobody may enter. */
function isRestricted({ runAsUser = "", allowExec }: DefaultedSpec): boolean {
  return !["", "0", "root"].includes(String(runAsUser)) && !allowExec;
}

/**
 * What the launcher does for such an app: no capabilities, and none to gain. It has no seccomp filter, which is the default of this
 * runtime, and what `restricted` asks for by name.
 */
const restrictedContext = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};

function digest(text: string): string {
  return hash("sha256", text, "hex");
}
