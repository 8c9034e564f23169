/**
 * Shows every app as a Pod of its node, so that kubectl, Services and other tools that know Pods see it. Nothing runs such a Pod, and it
 * never starts an app. Its eviction, or its deletion on a cordoned node, moves an app that a drain may move. Only on Nodes that the agent registered: a kubelet deletes mirror Pods that are
 * not its own.
 *
 * Guarantees: one request in flight per app; a request carries the newest state, and there is none for usage. A Pod that a
 * user deletes or edits is restored, under its name; that of an app that is gone is deleted. Pods of other nodes are not touched, and
 * those of this node that no agent made are rejected (foreign-pods.ts). A namespace that refuses Pods is logged once, and asked again
 * (refusals.ts); those that it has are kept accurate meanwhile, and a Pod that is no longer ready goes first. Apps in namespaces of
 * Kubernetes itself (kube-*) have no Pods: a Service there that selects by label, such as the cluster's DNS, would send them its traffic.
 * Caveats: a start that takes less than half a second is not shown as such, and a new app has its Pod only then. A label that a
 * webhook adds to every Pod stays. An annotation that the app loses stays on the Pod if the
 * agent restarts at the same time. A change of caps replaces the Pod, whose resources cannot change: its endpoints are gone for a moment. Where another Pod has the app's name, the Pod keeps its other name after that one is gone.
 */
import { keyOf, splitAppKey, systemNamespacePrefix } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectsOf } from "../../kube/guarded-write.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { nodes as nodeResource, pods as podResource } from "../../kube/resources.ts";
import type { KubeObject } from "../../kube/wire.ts";
import { describeError, type Logger } from "../../lib/log.ts";
import { type Clock, systemClock } from "../clock.ts";
import { createKeyedWriter } from "../keyed-writer.ts";
import { followPods, type FollowPodsOptions } from "./follow-pods.ts";
import { createForeignPods, type ForeignPodsOptions } from "./foreign-pods.ts";
import { type AppPods, PodStore } from "./pod-store.ts";
import { newPod, otherPodName, type Pod, podAnnotations, type PodNode, type ShownApp } from "./pod-object.ts";
import { evictionOf, isMirrorPodOf, ownerOf, planPod, type PodAction, readPod } from "./pod-plan.ts";
import { stateOf, statusPatch } from "./pod-status.ts";
import { type Refusal, Refusals } from "./refusals.ts";

export type { Pod, ShownApp } from "./pod-object.ts";
export { stateOf } from "./pod-status.ts";

/** `auto`: on Nodes that the agent registered. `never`: none, and those of an earlier agent are deleted. */
export type PodsMode = "auto" | "never";

export interface Pods {
  /** Shows the newest state of an app. */
  show(app: ShownApp): void;
  /** The app with this key is gone. */
  remove(key: string): void;
  /** All apps have been shown: other Pods are of apps that are gone. */
  complete(): void;
  /** What is known about the Node; `registered`: it belongs to this agent. */
  nodeSeen(node: { registered: boolean; addresses: string[] }): void;
  /** The server answered another request: writes that got no answer are retried. */
  serverAnswered(): void;
  /** Reports whether the app with this key has to leave the node, because its Pod was evicted. */
  isEvicted(key: string): boolean;
  /** Returns the app that a Pod shows. */
  appOfPod(namespace: string, pod: string): { namespace: string; name: string } | undefined;
  /** Returns the Pod that shows the app with this key. */
  podOf(key: string): { name: string; uid: string } | undefined;
  /** Returns why the app with this key has no Pod, if its namespace refuses it. */
  refusalOf(key: string): Refusal | undefined;
  /** Returns the Pods of this node as they should be at the server. */
  podList(): Pod[];
  flush(timeoutMs: number): Promise<void>;
  close(): void;
}

export interface PodsOptions extends Pick<FollowPodsOptions, "namespace" | "answered"> {
  client: KubeClient;
  node: string;
  size: PodNode["size"];
  log: Logger;
  mode?: PodsMode;
  /** The answer of `refusalOf` for the app with this key may have changed. */
  onRefusal?: (key: string) => void;
  record?: ForeignPodsOptions["record"];
  /** Reports whether this agent acts for its node; undefined until that is decided. */
  isActing?: () => boolean | undefined;
  /** The app with this key has to leave the node. */
  onEvicted?: (key: string) => void;
  follow?: typeof followPods;
  clock?: Clock;
  random?: () => number;
}

/** Phases that usually pass at once. */
const briefPhases: readonly (string | undefined)[] = ["Pending", "Starting"];
const briefMs = 500;
/** A Pod that the server does not let change is replaced once in this time. */
const replacedMs = 300_000;
/** The words of the admission policy about Pods that get Secrets from their service account. */
const refusesMovable = /has one container, without volumes/;
/** How long the watch may take to deliver a deletion. */
const deletedMs = 10_000;
/** How long the node that had the app before may take to delete its Pod. */
const movedMs = 10_000;

export function createPods(options: PodsOptions): Pods {
  const { client, node: nodeName, log, mode = "auto", isActing = () => true, clock = systemClock } = options;
  const closing = new AbortController();
  const objects = objectsOf<Pod>(client, podResource, { signal: closing.signal });
  const nodesOf = objectsOf<KubeObject & { spec?: { unschedulable?: boolean } }>(client, nodeResource, {
    signal: closing.signal,
  });
  const store = new PodStore();
  const node: PodNode = { name: nodeName, size: options.size, addresses: [] };
  const foreign = createForeignPods(options);
  const refusals = new Refusals(clock);
  /** The keys of apps whose refusal was reported. */
  const reported = new Set<string>();
  /** When Pods were deleted, by uid, until the watch delivers that. */
  const deleted = new Map<string, number>();
  /** The namespaces of Kubernetes itself that have apps. */
  const hidden = new Set<string>();
  let following: AbortController | undefined;
  let isListed = false;
  let isComplete = mode === "never";

  const wantedOf = ({ shown, isRefused }: AppPods) =>
    shown && isRefused ? { ...shown, movable: false } : shown;
  const planNext = (entry: AppPods) =>
    planPod(wantedOf(entry), entry.pods, { node, now: clock.wall(), ...entry });
  const isEvicted = (entry: AppPods) => evictionOf(wantedOf(entry), entry.pods, entry)?.evicted === true;
  /** Tells once that the app of this key has to leave. */
  const noteEviction = (key: string) => {
    const entry = store.get(key);
    if (!entry || !isEvicted(entry) || entry.isNoted) return;
    entry.isNoted = true;
    log.info("the Pod of an app was evicted: the app has to leave this node", { app: key });
    options.onEvicted?.(key);
  };
  const planFor = (key: string) => {
    const entry = store.get(key);
    if (!entry || !isListed || !isActing() || !(entry.shown || entry.isGone || isComplete)) return undefined;
    const action = planNext(entry);
    return action && { entry, action, at: dueAt(key, entry, action) };
  };
  const dueAt = (key: string, { shown, changedAt }: AppPods, action: PodAction) => {
    const isBrief = action.kind !== "delete" && briefPhases.includes(shown?.status.phase);
    const deletedAt = action.kind === "delete" ? deleted.get(action.pod.uid) : undefined;
    return Math.max(
      isBrief ? changedAt + briefMs : 0,
      deletedAt === undefined ? 0 : deletedAt + deletedMs,
      refusals.of(key, action.kind)?.retryAt ?? 0,
    );
  };

  const writer = createKeyedWriter<string>({
    what: "writes of Pods",
    log,
    // Fewer than the client has, so that Leases never queue behind Pods.
    maxInFlight: 2,
    clock,
    random: options.random,
    due(key) {
      const planned = planFor(key);
      return planned && { at: planned.at, urgent: endsReadiness(planned.action) };
    },
    async write(key) {
      const planned = planFor(key);
      if (!planned || clock.now() < planned.at) return "skipped";
      const { entry, action } = planned;
      entry.isBusy = true;
      try {
        await perform(entry, action);
        refusals.remove(key, action.kind);
        if (action.kind === "create" && reported.size > 0) reportRefusals();
      } catch (error) {
        if (!hasStatus(error, 403)) throw error;
        refuse(key, action, error);
        return "skipped";
      } finally {
        entry.isBusy = false;
        store.tidy(key);
      }
    },
  });
  const scheduleAll = () => store.keys.forEach(writer.schedule);

  const perform = async (entry: AppPods, action: PodAction) => {
    if (action.kind === "create") return await create(entry, wantedOf(entry)!);
    const { pod } = action;
    if (action.kind === "judge") {
      // From etcd: a drain cordons the node only a moment before.
      const own = await nodesOf.read({ name: nodeName });
      entry.judged = { uid: pod.uid, evicted: own?.spec?.unschedulable === true };
      return noteEviction(entry.key);
    }
    // Any version of this Pod, and no other of its name.
    const based = { namespace: pod.namespace, name: pod.name, uid: pod.uid };
    try {
      if (action.kind === "delete") {
        // At once: there is no kubelet that would do it after the grace period.
        await objects.remove(based, { gracePeriodSeconds: 0 });
        deleted.set(pod.uid, clock.now());
      } else if (action.kind === "report") {
        const change = { status: statusPatch(action.status) };
        // Merges conditions by their type: those of other clients stay.
        const contentType = "application/strategic-merge-patch+json";
        const answer = await objects.patch({ ...based, subresource: "status" }, change, { contentType });
        store.apply(answer, stateOf(action.status));
      } else {
        entry.written = Object.keys(podAnnotations(entry.shown!.app));
        store.apply(await objects.patch(based, action.patch));
        const [sent, next] = [JSON.stringify(action.patch), planNext(entry)];
        // A webhook that adds a label to every Pod does so again; each further attempt would be the next one's cause.
        if (next?.kind === "update" && JSON.stringify(next.patch) === sent) entry.undone = sent;
      }
    } catch (error) {
      // It is gone, or another Pod has its name.
      if (hasStatus(error, 404) || hasStatus(error, 409)) return void store.removePod(pod);
      if (!hasStatus(error, 422) || clock.now() < (entry.rejectedAt ?? -Infinity) + replacedMs) throw error;
      log.debug("the API server rejects a change of a Pod; replacing it", { pod: pod.name, error });
      entry.rejectedAt = clock.now();
      pod.mark = "";
    }
  };

  const create = async (entry: AppPods, shown: ShownApp) => {
    const { owner, app } = shown;
    const name = entry.isTaken ? otherPodName(owner.name, owner.namespace, nodeName) : owner.name;
    try {
      entry.written = Object.keys(podAnnotations(app));
      store.apply(await objects.create(newPod(shown, node, name)));
      entry.lost = undefined;
    } catch (error) {
      if (shown.movable && hasStatus(error, 403) && refusesMovable.test(describeError(error))) {
        entry.isRefused = true;
        log.info(
          "the default service account of this namespace has imagePullSecrets: kubectl drain skips its apps",
          {
            namespace: owner.namespace,
            hint: "use kubectl ncapp drain",
          },
        );
        return;
      }
      if (!hasStatus(error, 409)) throw error;
      const other = await objects.read({ namespace: owner.namespace, name });
      if (!other) return;
      const isOfThisApp = ownerOf(other)?.name === owner.name;
      // The watch has not delivered it yet.
      if (isOfThisApp && isMirrorPodOf(nodeName, other)) return void store.apply(other);
      entry.freeBy ??= clock.now() + (isOfThisApp ? movedMs : 0);
      if (entry.isTaken || clock.now() < entry.freeBy) throw error;
      entry.isTaken = true;
      log.info("another Pod has the name of an app; the app's Pod gets another name", { app: keyOf(app) });
    }
  };

  const refuse = (key: string, action: PodAction, error: unknown) => {
    const { refusal, isNew } = refusals.add(key, action.kind, error);
    if (!refusal.isEnding && isNew) {
      const { namespace } = splitAppKey(key);
      const what = action.kind === "create"
        ? "this namespace refuses Pods: kubectl does not show its apps as Pods"
        : "this namespace refuses changes of Pods: kubectl shows an old state of its apps";
      log.info(what, { namespace, why: refusal.message });
    }
    reportRefusals();
  };
  /** Tells each app whose refusal has come or gone. */
  const reportRefusals = () => {
    for (const key of store.keys) {
      const { shown, pods } = store.get(key)!;
      const isRefused = shown !== undefined && pods.length === 0 && refusals.worthSaying(key) !== undefined;
      if (isRefused === reported.has(key)) continue;
      if (isRefused) reported.add(key);
      else reported.delete(key);
      if (shown) options.onRefusal?.(keyOf(shown.app));
    }
  };

  const { follow = followPods } = options;
  const isOwn = (pod: Pod) => isMirrorPodOf(nodeName, pod);
  const startFollowing = (signal: AbortSignal) =>
    follow({
      ...options,
      signal,
      onListed({ items, resourceVersion, rewound }) {
        deleted.clear();
        store.replace(items.filter(isOwn), resourceVersion, rewound);
        foreign.replace(items.filter((item) => !isOwn(item)));
        isListed = true;
        store.keys.forEach(noteEviction);
        scheduleAll();
      },
      onApplied(item) {
        if (!isOwn(item)) return foreign.apply(item);
        const key = store.apply(item);
        noteEviction(key);
        writer.schedule(key);
      },
      onDeleted(item) {
        if (!isOwn(item)) return foreign.remove(item);
        const isOurs = deleted.delete(item.metadata.uid);
        const key = store.removePod(readPod(item));
        const entry = store.get(key);
        if (entry?.shown && !isOurs) entry.lost = readPod(item);
        noteEviction(key);
        writer.schedule(key);
      },
    });

  return {
    show(app) {
      if (mode === "never") return;
      const { namespace } = app.owner;
      if (!namespace.startsWith(systemNamespacePrefix)) {
        const keys = store.show(app, clock.now());
        keys.forEach(noteEviction);
        return keys.forEach(writer.schedule);
      }
      if (!hidden.has(namespace)) {
        log.info("this namespace belongs to Kubernetes: kubectl does not show its apps as Pods", {
          namespace,
        });
      }
      hidden.add(namespace);
    },
    remove(key) {
      for (const removed of store.removeApp(key)) {
        refusals.forget(removed);
        reported.delete(removed);
        writer.schedule(removed);
      }
    },
    complete() {
      if (isComplete) return;
      isComplete = true;
      scheduleAll();
    },
    nodeSeen({ registered, addresses }) {
      const hasMoved = addresses.join() !== node.addresses.join();
      node.addresses = addresses;
      if (registered && !following) {
        following = new AbortController();
        startFollowing(AbortSignal.any([following.signal, closing.signal]))
          .catch((error) => log.error("the Pods of this node are no longer followed", { error }));
      } else if (!registered && following) {
        following.abort();
        following = undefined;
        isListed = false;
        store.replace([], "0", true);
        foreign.replace([]);
      } else if (hasMoved) scheduleAll();
    },
    serverAnswered() {
      writer.serverAnswered();
      foreign.serverAnswered();
    },
    isEvicted(key) {
      const entry = store.get(key);
      return entry !== undefined && isEvicted(entry);
    },
    appOfPod: (namespace, pod) => store.appOfPod(namespace, pod),
    podOf: (key) => store.podOf(key),
    refusalOf(app) {
      const key = store.keyOf(app);
      return key !== undefined && reported.has(key) ? refusals.worthSaying(key) : undefined;
    },
    podList: () => store.list(node, clock.wall()),
    flush: writer.flush,
    close() {
      closing.abort();
      writer.close();
      foreign.close();
    },
  };
}

/** Services must stop sending requests to it: this goes before all other changes. */
function endsReadiness(action: PodAction): boolean {
  if (action.kind === "create") return false;
  const wasReady = isReady(action.pod.times.conditions);
  return wasReady &&
    (action.kind === "delete" || action.kind === "report" && !isReady(action.status.conditions));
}

function isReady(conditions: readonly { type: string; status: string }[] = []): boolean {
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}
