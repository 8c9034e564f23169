/**
 * Plans the Pod of one app: what is next on the way from the Pods that it has to the one that it should have. Pure.
 *
 * Guarantees: only Pods of this node that have the mark of a mirror Pod and an NCApp as their owner are changed. A Pod that is
 * being deleted, whose spec or owner differs, or that has ended while its app has not, is deleted and created again.
 */
import { group, kind, podMirrorAnnotation } from "../../api/names.ts";
import type { Identified } from "../../kube/wire.ts";
import { type MergePatch, mergePatch, ownValue } from "../../lib/objects.ts";
import { type Pod, podAnnotations, podLabels, podMark, type PodNode, type ShownApp } from "./pod-object.ts";
import { isTerminal, podPhase, type PodStatus, podStatus, type PodTimes, stateOf } from "./pod-status.ts";

/** What the agent keeps of a Pod. */
export interface KnownPod {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  createdAt: string;
  owner: { name: string; uid: string };
  mark: string;
  isDeleting: boolean;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  phase: string | undefined;
  times: PodTimes;
  /** See `stateOf`. */
  state: string;
}

export type PodAction =
  | { kind: "create" }
  | { kind: "delete"; pod: KnownPod }
  | { kind: "update"; pod: KnownPod; patch: object }
  | { kind: "report"; pod: KnownPod; status: PodStatus };

export interface PodContext {
  node: PodNode;
  now: number;
  /** Annotations that this agent wrote earlier, and that the app may have lost since. */
  written?: readonly string[];
  /** The patch of metadata that another client undoes at once, as JSON: it is not sent again. */
  undone?: string;
}

/** Returns what to do next; undefined if nothing. `wanted` is undefined if the app is gone. */
export function planPod(
  wanted: ShownApp | undefined,
  pods: readonly KnownPod[],
  { node, now, written = [], undone }: PodContext,
): PodAction | undefined {
  const fits = (pod: KnownPod) => wanted !== undefined && isUsable(pod, wanted, node.name);
  const pod = pods.find((pod) => fits(pod) && pod.name === wanted?.owner.name) ?? pods.find(fits);
  const surplus = pods.find((other) => other !== pod);
  if (surplus) return { kind: "delete", pod: surplus };
  if (!wanted) return undefined;
  if (!pod) return { kind: "create" };
  const metadata = metadataPatch(pod, wanted.app, written);
  const patch = { metadata: { uid: pod.uid, ...metadata } };
  if (metadata && JSON.stringify(patch) !== undone) return { kind: "update", pod, patch };
  const status = podStatus(wanted, node, pod.times, now);
  return stateOf(status) === pod.state ? undefined : { kind: "report", pod, status };
}

/** Reports whether an agent of this node made the Pod for an NCApp. */
export function isMirrorPodOf(node: string, { metadata, spec }: Pod): boolean {
  return spec?.nodeName === node && metadata?.annotations?.[podMirrorAnnotation] !== undefined &&
    ownerOf({ metadata }) !== undefined;
}

export function ownerOf({ metadata }: Pick<Pod, "metadata">): { name: string; uid: string } | undefined {
  return metadata?.ownerReferences?.find(({ apiVersion, kind: its }) =>
    its === kind && apiVersion.startsWith(`${group}/`)
  );
}

/** Keeps what planning needs; the rest of the Pod is dropped. */
export function readPod(pod: Identified<Pod>): KnownPod {
  const { metadata, status = {} } = pod;
  const { namespace = "", name, uid, resourceVersion, creationTimestamp = "", labels = {} } = metadata;
  const { [podMirrorAnnotation]: mark = "", ...annotations } = metadata.annotations ?? {};
  const { name: owner = "", uid: ownerUid = "" } = ownerOf(pod) ?? {};
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    createdAt: creationTimestamp,
    owner: { name: owner, uid: ownerUid },
    mark,
    isDeleting: metadata.deletionTimestamp !== undefined,
    labels,
    annotations,
    phase: status.phase,
    times: {
      ...(status.startTime ? { startTime: status.startTime } : {}),
      conditions: status.conditions?.map(({ type, status, lastTransitionTime }) => ({
        type,
        status,
        lastTransitionTime,
      })),
    },
    state: stateOf(status),
  };
}

/** Leaves out the spec, which `readPod` does not need. */
export function slimPod({ spec: _, ...pod }: Pod): Pod {
  return pod;
}

function isUsable(pod: KnownPod, { owner, app, status }: ShownApp, node: string): boolean {
  const hasEnded = isTerminal(pod.phase) && pod.phase !== podPhase(status);
  return !pod.isDeleting && pod.owner.uid === owner.uid && pod.mark === podMark(app.spec, node) && !hasEnded;
}

/** API servers since 1.35 copy these from the Node to every new Pod. */
const copiedLabels = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

/** Labels are exactly the app's, but for the server's own: Services select by them. Annotations of other clients stay. */
function metadataPatch(
  pod: KnownPod,
  app: ShownApp["app"],
  written: readonly string[],
): MergePatch | undefined {
  const wanted = podAnnotations(app);
  const lost = written.filter((name) =>
    ownValue(wanted, name) === undefined && ownValue(pod.annotations, name) !== undefined
  );
  const annotations = {
    ...pod.annotations,
    ...wanted,
    ...Object.fromEntries(lost.map((name) => [name, undefined])),
  };
  const copied = Object.entries(pod.labels).filter(([name]) => copiedLabels.includes(name));
  const labels = { ...Object.fromEntries(copied), ...podLabels(app) };
  return mergePatch(
    { labels: pod.labels, annotations: pod.annotations },
    { labels, annotations },
  );
}
