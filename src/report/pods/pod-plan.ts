/**
 * Plans the Pod of one app: what is next on the way from the Pods that it has to the one that it should have. Pure.
 *
 * Guarantees: only Pods of this node that have the mark of our Pods and an NCApp as their owner are changed. A Pod that is
 * being deleted, whose spec or owner differs, or that has ended while its app has not, is deleted and created again. A Pod that is
 * evicted, or that is deleted on a cordoned node, stays until its app has stopped, and the app gets no other one here.
 */
import { group, kind, podMarkAnnotation, podMirrorAnnotation } from "../../api/names.ts";
import { hasEnded } from "../../api/placement/placement.ts";
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
  /** It stands for an app that a drain moves. */
  isMovable: boolean;
  isDeleting: boolean;
  /** The API server's eviction, a scheduler or another controller asked it to leave. */
  isDisrupted: boolean;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  phase: string | undefined;
  times: PodTimes;
  /** See `stateOf`. */
  state: string;
}

export type PodAction =
  | { kind: "create" }
  /** Find out whether the node is cordoned: only then its app leaves with the Pod. */
  | { kind: "judge"; pod: KnownPod }
  | { kind: "delete"; pod: KnownPod }
  | { kind: "update"; pod: KnownPod; patch: object }
  | { kind: "report"; pod: KnownPod; status: PodStatus };

export interface PodContext {
  node: PodNode;
  now: number;
  /** Annotations that this agent wrote earlier, and that the app may have lost since. */
  written?: readonly string[];
  /** A Pod that another client has removed at once. */
  lost?: KnownPod;
  /** What was found out about a Pod that is being deleted, or lost. */
  judged?: Judgement;
  /** The patch of metadata that another client undoes at once, as JSON: it is not sent again. */
  undone?: string;
}

export interface Judgement {
  uid: string;
  evicted: boolean;
}

/** Returns the Pod with which the app leaves the node, and whether it does, as far as known. */
export function evictionOf(
  wanted: ShownApp | undefined,
  pods: readonly KnownPod[],
  { lost, judged }: Pick<PodContext, "lost" | "judged">,
): { pod: KnownPod; evicted?: boolean } | undefined {
  if (!wanted?.movable) return undefined;
  const isOwn = (pod: KnownPod) => pod.owner.uid === wanted.owner.uid && pod.isMovable;
  const pod = pods.find((pod) => pod.isDeleting && isOwn(pod)) ??
    (lost && isOwn(lost) && !pods.some((pod) => !pod.isDeleting && isOwn(pod)) ? lost : undefined);
  if (!pod) return undefined;
  if (judged?.uid === pod.uid) return { pod, evicted: judged.evicted };
  // Elsewhere it would run again.
  if (hasEnded({ spec: wanted.app.spec, status: wanted.status })) return { pod, evicted: false };
  return pod.isDisrupted ? { pod, evicted: true } : { pod };
}

/** Returns what to do next; undefined if nothing. `wanted` is undefined if the app is gone. */
export function planPod(
  wanted: ShownApp | undefined,
  pods: readonly KnownPod[],
  context: PodContext,
): PodAction | undefined {
  const { node, now, written = [], undone } = context;
  const eviction = evictionOf(wanted, pods, context);
  if (eviction && eviction.evicted === undefined) return { kind: "judge", pod: eviction.pod };
  if (wanted && eviction?.evicted) return planLeaving(wanted, pods, eviction.pod, context);
  const fits = (pod: KnownPod) => wanted !== undefined && isUsable(pod, wanted, node);
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

/** The Pod stays as long as the app, and shows how it stops. */
function planLeaving(
  wanted: ShownApp,
  pods: readonly KnownPod[],
  leaving: KnownPod,
  { node, now }: PodContext,
): PodAction | undefined {
  const surplus = pods.find(({ uid }) => uid !== leaving.uid);
  if (surplus) return { kind: "delete", pod: surplus };
  if (!pods.includes(leaving)) return undefined;
  const status = podStatus(wanted, node, leaving.times, now);
  return stateOf(status) === leaving.state ? undefined : { kind: "report", pod: leaving, status };
}

/** Reports whether an agent of this node made the Pod for an NCApp. */
export function isMirrorPodOf(node: string, { metadata, spec }: Pod): boolean {
  return spec?.nodeName === node && marksOf(metadata).mark !== undefined &&
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
  const { mark = "", isMovable, annotations } = marksOf(metadata);
  const { name: owner = "", uid: ownerUid = "" } = ownerOf(pod) ?? {};
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    createdAt: creationTimestamp,
    owner: { name: owner, uid: ownerUid },
    mark,
    isMovable,
    isDeleting: metadata.deletionTimestamp !== undefined,
    isDisrupted:
      status.conditions?.some(({ type, status }) => type === "DisruptionTarget" && status === "True") ??
        false,
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

function marksOf(metadata: Pod["metadata"]) {
  const { [podMirrorAnnotation]: mirror, [podMarkAnnotation]: mark, ...annotations } =
    metadata?.annotations ?? {};
  return { mark: mirror ?? mark, isMovable: mirror === undefined, annotations };
}

/** Keeps of the spec what tells whose Pod it is, and which containers a rejected one had. */
export function slimPod({ spec, ...pod }: Pod): Pod {
  const { nodeName, containers = [] } = spec ?? { containers: [] };
  return { ...pod, spec: { nodeName, containers: containers.map(({ name, image }) => ({ name, image })) } };
}

function isUsable(pod: KnownPod, wanted: ShownApp, node: PodNode): boolean {
  const isOver = isTerminal(pod.phase) && pod.phase !== podPhase(wanted.status);
  return !pod.isDeleting && pod.owner.uid === wanted.owner.uid && pod.mark === podMark(wanted, node) &&
    !isOver;
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
