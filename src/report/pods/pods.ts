/**
 * Shows every app as a Pod of its node, so that kubectl, Services and other tools that know Pods see it. Such a Pod is a mirror: it
 * never starts or stops an app, and nothing runs it. Only on Nodes that the agent registered: a kubelet deletes mirror Pods that are
 * not its own.
 *
 * Guarantees: one request in flight per app; a request carries the newest state, and there is none for usage. A Pod that a
 * user deletes or edits is restored, under its name; that of an app that is gone is deleted. Pods of other nodes, and those that no
 * agent made, are not touched. A namespace that refuses Pods (a quota, a policy, a missing right) is logged once and asked again
 * every five minutes; those that it has are kept accurate meanwhile. Apps in namespaces of Kubernetes itself (kube-*) have no Pods: a
 * Service there that selects by label, such as the cluster's DNS, would send them its traffic.
 * Caveats: a start that takes less than half a second is not shown as such, and a new app has its Pod only then. A label that a
 * webhook adds to every Pod stays. An annotation that the app loses stays on the Pod if the
 * agent restarts at the same time. Where another Pod has the app's name, the Pod keeps its other name after that one is gone.
 */
import { keyOf, splitAppKey, systemNamespacePrefix } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectsOf } from "../../kube/guarded-write.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { pods as podResource } from "../../kube/resources.ts";
import { describeError, type Logger } from "../../lib/log.ts";
import { type Clock, systemClock } from "../clock.ts";
import { createKeyedWriter } from "../keyed-writer.ts";
import { followPods, type FollowPodsOptions } from "./follow-pods.ts";
import { type AppPods, PodStore } from "./pod-store.ts";
import { newPod, otherPodName, type Pod, podAnnotations, type PodNode, type ShownApp } from "./pod-object.ts";
import { isMirrorPodOf, ownerOf, planPod, type PodAction, readPod } from "./pod-plan.ts";
import { stateOf, statusPatch } from "./pod-status.ts";

export type { Pod, ShownApp } from "./pod-object.ts";

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
  /** Returns the app that a Pod shows. */
  appOfPod(namespace: string, pod: string): { namespace: string; name: string } | undefined;
  /** Returns the name of the Pod that shows the app with this key. */
  podNameOf(key: string): string | undefined;
  /** Returns the Pods of this node as they should be at the server. */
  podList(): Pod[];
  flush(timeoutMs: number): Promise<void>;
  close(): void;
}

export interface PodsOptions extends Pick<FollowPodsOptions, "namespace" | "answered"> {
  client: KubeClient;
  node: string;
  log: Logger;
  mode?: PodsMode;
  /** Reports whether this agent acts for its node; undefined until that is decided. */
  isActing?: () => boolean | undefined;
  follow?: typeof followPods;
  clock?: Clock;
  random?: () => number;
}

/** Phases that usually pass at once. */
const briefPhases: readonly (string | undefined)[] = ["Pending", "Starting"];
const briefMs = 500;
/** After a namespace refused a Pod, the next attempt comes after this time. */
const deniedMs = 300_000;
/** A namespace that is being deleted takes no new objects. */
const endingMs = 10_000;
/** How long the watch may take to deliver a deletion. */
const deletedMs = 10_000;
/** How long the node that had the app before may take to delete its Pod. */
const movedMs = 10_000;

export function createPods(options: PodsOptions): Pods {
  const { client, node: nodeName, log, mode = "auto", isActing = () => true, clock = systemClock } = options;
  const closing = new AbortController();
  const objects = objectsOf<Pod>(client, podResource, { signal: closing.signal });
  const store = new PodStore();
  const node: PodNode = { name: nodeName, addresses: [] };
  /** When the next attempt is due, by namespace and kind of action: a quota that refuses new Pods lets others change. */
  const denied = new Map<string, number>();
  /** When Pods were deleted, by uid, until the watch delivers that. */
  const deleted = new Map<string, number>();
  /** The namespaces of Kubernetes itself that have apps. */
  const hidden = new Set<string>();
  let following: AbortController | undefined;
  let isListed = false;
  let isComplete = mode === "never";

  const planNext = ({ shown, pods, written, undone }: AppPods) =>
    planPod(shown, pods, { node, now: clock.wall(), written, undone });
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
      denied.get(deniedKey(key, action)) ?? 0,
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
      return planned && { at: planned.at, urgent: false };
    },
    async write(key) {
      const planned = planFor(key);
      if (!planned || clock.now() < planned.at) return "skipped";
      const { entry, action } = planned;
      entry.isBusy = true;
      try {
        await perform(entry, action);
        denied.delete(deniedKey(key, action));
      } catch (error) {
        if (!hasStatus(error, 403)) throw error;
        deny(key, action, error);
        return "skipped";
      } finally {
        entry.isBusy = false;
        store.tidy(key);
      }
    },
  });
  const scheduleAll = () => store.keys.forEach(writer.schedule);

  const perform = async (entry: AppPods, action: PodAction) => {
    if (action.kind === "create") return await create(entry, entry.shown!);
    const { pod } = action;
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
      if (!hasStatus(error, 422) || clock.now() < (entry.rejectedAt ?? -Infinity) + deniedMs) throw error;
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
      store.apply(await objects.create(newPod(shown, nodeName, name)));
    } catch (error) {
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

  const deny = (key: string, action: PodAction, error: unknown) => {
    const [why, which] = [describeError(error), deniedKey(key, action)];
    const isEnding = /because it is being terminated/.test(why);
    if (!isEnding && !denied.has(which)) {
      const { namespace } = splitAppKey(key);
      const what = action.kind === "create"
        ? "this namespace refuses Pods: kubectl does not show its apps as Pods"
        : "this namespace refuses changes of Pods: kubectl shows an old state of its apps";
      log.info(what, { namespace, why });
    }
    denied.set(which, clock.now() + (isEnding ? endingMs : deniedMs));
  };

  const { follow = followPods } = options;
  const startFollowing = (signal: AbortSignal) =>
    follow({
      ...options,
      signal,
      once: mode === "never",
      onListed({ items, resourceVersion, rewound }) {
        deleted.clear();
        store.replace(items, resourceVersion, rewound);
        isListed = true;
        scheduleAll();
      },
      onApplied: (item) => writer.schedule(store.apply(item)),
      onDeleted(item) {
        deleted.delete(item.metadata.uid);
        writer.schedule(store.removePod(readPod(item)));
      },
    });

  return {
    show(app) {
      if (mode === "never") return;
      const { namespace } = app.owner;
      if (!namespace.startsWith(systemNamespacePrefix)) {
        return store.show(app, clock.now()).forEach(writer.schedule);
      }
      if (!hidden.has(namespace)) {
        log.info("this namespace belongs to Kubernetes: kubectl does not show its apps as Pods", {
          namespace,
        });
      }
      hidden.add(namespace);
    },
    remove: (key) => store.removeApp(key).forEach(writer.schedule),
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
      } else if (hasMoved) scheduleAll();
    },
    serverAnswered: writer.serverAnswered,
    appOfPod: (namespace, pod) => store.appOfPod(namespace, pod),
    podNameOf: (key) => store.podNameOf(key),
    podList: () => store.list(node, clock.wall()),
    flush: writer.flush,
    close() {
      closing.abort();
      writer.close();
    },
  };
}

function deniedKey(key: string, { kind }: PodAction): string {
  return `${kind} ${splitAppKey(key).namespace}`;
}
