/**
 * The Pod of an app, without its status. Pure.
 *
 * Its mark is a digest of its spec. The API server lets nobody change either of them: a Pod with another mark is replaced.
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
  podMirrorAnnotation,
} from "../../api/names.ts";
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
}

export interface PodNode {
  name: string;
  /** The node's own addresses, at most one of each family: apps have no others. */
  addresses: string[];
}

/** There is no image: the node runs a script. */
export const podImage = "nckubelet/script";

/** Returns the Pod as it is created. The API server ignores the status of a new Pod. */
export function newPod({ owner, app }: Pick<ShownApp, "owner" | "app">, node: string, name: string): Pod {
  const spec = podSpec(app.spec, node);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: owner.namespace || defaultNamespace,
      name,
      labels: podLabels(app),
      annotations: { ...podAnnotations(app), [podMirrorAnnotation]: markOf(spec) },
      // As its controller, so that no ReplicaSet with a fitting selector adopts it. Without blockOwnerDeletion, which needs rights.
      ownerReferences: [{ apiVersion, kind, name: owner.name, uid: owner.uid, controller: true }],
    },
    spec,
  };
}

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

/** Returns the mark of the Pod that the app should have. */
export function podMark(spec: DefaultedSpec, node: string): string {
  return markOf(podSpec(spec, node));
}

/** Returns a name for the app's Pod where another Pod has the app's own; the same for the same app and node. */
export function otherPodName(app: string, namespace: string, node: string): string {
  const suffix = `-${digest(`${node}/${namespace}/${app}`).slice(0, 5)}`;
  return app.slice(0, 253 - suffix.length).replace(/[^a-z0-9]+$/, "") + suffix;
}

/** Arguments and variables may hold secrets, and caps change without a restart: the Pod has none of them. */
function podSpec(spec: DefaultedSpec, node: string): NonNullable<Pod["spec"]> {
  const { shellFile, ports = [], restartPolicy, terminationGracePeriodSeconds } = spec;
  return {
    nodeName: node,
    restartPolicy,
    terminationGracePeriodSeconds,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // Otherwise the taints of a node that is not ready would have it deleted.
    tolerations: [{ operator: "Exists" }],
    containers: [{
      name: podContainer,
      image: podImage,
      imagePullPolicy: "Never",
      ...(shellFile ? { command: [showURL(shellFile)] } : {}),
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

function markOf(spec: object): string {
  return digest(JSON.stringify(spec)).slice(0, 16);
}

function digest(text: string): string {
  return hash("sha256", text, "hex");
}
