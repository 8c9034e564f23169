/**
 * Answers for Pods that are bound to this node and show no app of it (`kubectl debug node/…`, any Pod with `spec.nodeName`). The agent
 * runs none of them: it rejects them, as a kubelet rejects a Pod that does not fit, and finishes their deletion. Otherwise they would stay
 * Pending, then Terminating, and keep their namespace from being deleted.
 *
 * Guarantees: one request in flight per Pod, for the Pod with this uid only; a Pod that has ended is not changed; one is deleted only if
 * its deletion was requested. A controller that replaces rejected Pods at once (a ReplicaSet whose template names this node) gets its
 * rejections after waits that grow to five minutes, so that it does not fill the cluster with Pods.
 */
import type { V1ContainerStatus } from "@kubernetes/client-node";
import type { Reason } from "../../api/reasons.ts";
import { objectsOf } from "../../kube/guarded-write.ts";
import { isOutdated } from "../../kube/kube-error.ts";
import { pods as podResource } from "../../kube/resources.ts";
import type { Identified, Wire } from "../../kube/wire.ts";
import { createKeyedWriter, type KeyedWriterOptions } from "../keyed-writer.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Pod } from "./pod-object.ts";
import { isTerminal, type PodStatus } from "./pod-status.ts";

export interface ForeignPods {
  /** A complete list. */
  replace(pods: Identified<Pod>[]): void;
  apply(pod: Identified<Pod>): void;
  remove(pod: Identified<Pod>): void;
  serverAnswered(): void;
  close(): void;
}

export interface ForeignPodsOptions extends Pick<KeyedWriterOptions<string>, "log" | "clock" | "random"> {
  client: KubeClient;
  node: string;
  isActing?: () => boolean | undefined;
  /** Records an event about the Pod. */
  record?: (
    pod: { namespace: string; name: string; uid: string; kind: string; apiVersion: string },
    event: { type: "Warning"; reason: Reason; message: string },
  ) => void;
}

interface ForeignPod {
  namespace: string;
  name: string;
  uid: string;
  /** The uid of its controller, which may replace it. */
  controller?: string;
  phase?: string;
  isDeleting: boolean;
  /** Its deletion was finished; finalizers may still keep it. */
  isDeleted: boolean;
  containers: { name: string; image: string }[];
}

const reason = "PodNotSupported";
/** As container runtimes report a container that they could not start. */
const cannotStart = 128;
const wait = { firstMs: 1000, mostMs: 300_000 };
/** Controllers whose waits are remembered. */
const mostControllers = 256;

export function createForeignPods(options: ForeignPodsOptions): ForeignPods {
  const { client, node, log, isActing = () => true, clock = systemClock, record } = options;
  const closing = new AbortController();
  const objects = objectsOf<Pod>(client, podResource, { signal: closing.signal });
  const pods = new Map<string, ForeignPod>();
  const waits = createWaits(clock);
  const message = `node ${node} runs NCApps and no containers`;

  const writer = createKeyedWriter<string>({
    ...options,
    what: "rejections of Pods",
    appOf: (uid) => nameOf(pods.get(uid)),
    maxInFlight: 1,
    due(uid) {
      const pod = pods.get(uid);
      const next = pod && isActing() ? planForeignPod(pod) : undefined;
      if (!pod || !next) return undefined;
      return { at: next === "delete" || pod.isDeleting ? 0 : waits.until(pod.controller), urgent: false };
    },
    async write(uid) {
      const pod = pods.get(uid)!;
      const next = planForeignPod(pod);
      const based = { namespace: pod.namespace, name: pod.name, uid };
      try {
        if (next === "delete") {
          await objects.remove(based, { gracePeriodSeconds: 0 });
          pod.isDeleted = true;
        } else if (pod.isDeleting || waits.until(pod.controller) <= clock.now()) {
          await reject(pod, based);
        } else return "skipped";
      } catch (error) {
        if (!isOutdated(error)) throw error;
        // It is gone, or another Pod has its name.
        pods.delete(uid);
      }
    },
  });

  const reject = async (pod: ForeignPod, based: { namespace: string; name: string; uid: string }) => {
    if (!pod.isDeleting) waits.lengthen(pod.controller);
    const change = { status: rejection(pod, message) };
    // Conditions of others stay.
    const contentType = "application/strategic-merge-patch+json";
    await objects.patch({ ...based, subresource: "status" }, change, { contentType });
    pod.phase = "Failed";
    log.info("rejected a Pod: this node runs none", { pod: nameOf(pod) });
    record?.({ ...based, kind: "Pod", apiVersion: "v1" }, { type: "Warning", reason, message });
  };

  const apply = (object: Identified<Pod>) => {
    const pod = readForeignPod(object);
    // The watch may be behind what this agent has just written.
    if (pods.get(pod.uid)?.isDeleted) pod.isDeleted = true;
    pods.set(pod.uid, pod);
    writer.schedule(pod.uid);
  };
  const forget = (uid: string) => {
    pods.delete(uid);
    writer.forget(uid);
  };

  return {
    replace(objects) {
      const uids = new Set(objects.map(({ metadata }) => metadata.uid));
      for (const uid of pods.keys()) if (!uids.has(uid)) forget(uid);
      objects.forEach(apply);
    },
    apply,
    remove: ({ metadata: { uid } }) => forget(uid),
    serverAnswered: writer.serverAnswered,
    close() {
      closing.abort();
      writer.close();
    },
  };
}

/** A Pod that is being deleted ends first: the controllers of Jobs count only Pods that have ended. */
export function planForeignPod(
  { phase, isDeleting, isDeleted }: Pick<ForeignPod, "phase" | "isDeleting" | "isDeleted">,
): "reject" | "delete" | undefined {
  if (isDeleted) return undefined;
  if (!isTerminal(phase)) return "reject";
  return isDeleting ? "delete" : undefined;
}

function readForeignPod({ metadata, spec, status }: Identified<Pod>): ForeignPod {
  const { namespace = "", name, uid, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  return {
    namespace,
    name,
    uid,
    controller: metadata.ownerReferences?.find(({ controller }) => controller)?.uid,
    phase: status?.phase,
    isDeleting: deletionTimestamp !== undefined,
    isDeleted: deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0,
    containers: (spec?.containers ?? []).map(({ name, image = "" }) => ({ name, image })),
  };
}

/** Its containers have ended too: `kubectl debug` and `kubectl run` wait for them. */
function rejection({ containers }: ForeignPod, message: string): PodStatus {
  const terminated = { exitCode: cannotStart, reason, message };
  const containerStatuses = containers.map((container): Wire<V1ContainerStatus> => ({
    ...container,
    imageID: "",
    ready: false,
    started: false,
    restartCount: 0,
    state: { terminated },
  }));
  return { phase: "Failed", reason, message: `Pod was rejected: ${message}`, containerStatuses };
}

/** When the next Pod of a controller may be rejected. Pods without a controller do not wait: nothing replaces them. */
function createWaits(clock: Clock) {
  const known = new Map<string, { until: number; ms: number }>();
  return {
    until: (controller = ""): number => known.get(controller)?.until ?? 0,
    lengthen(controller: string | undefined): void {
      if (controller === undefined) return;
      const now = clock.now();
      const before = known.get(controller);
      const isOver = !before || now > before.until + wait.mostMs;
      const ms = isOver ? wait.firstMs : Math.min(before.ms * 2, wait.mostMs);
      known.delete(controller);
      known.set(controller, { until: now + ms, ms });
      if (known.size > mostControllers) known.delete(known.keys().next().value!);
    },
  };
}

function nameOf(pod: Pick<ForeignPod, "namespace" | "name"> | undefined): string {
  return pod ? `${pod.namespace}/${pod.name}` : "";
}
