/** What is known about the apps that have Pods, and about their Pods. No effects. */
import { appKey, keyOf, splitAppKey } from "../../api/names.ts";
import { ObjectStore } from "../../kube/object-store.ts";
import type { Identified } from "../../kube/wire.ts";
import { newPod, type Pod, type PodNode, type ShownApp } from "./pod-object.ts";
import { type Judgement, type KnownPod, readPod } from "./pod-plan.ts";
import { podStatus } from "./pod-status.ts";

/** One NCApp, by its key at the API server, with its Pods. */
export interface AppPods {
  readonly key: string;
  shown?: ShownApp;
  /** The app was there and has gone. Without it, an app that is not shown may still come. */
  isGone?: boolean;
  readonly pods: readonly KnownPod[];
  /** A request is in flight, which may bring a Pod. */
  isBusy?: boolean;
  /** When the app's phase changed. */
  changedAt: number;
  /** The names of the annotations that were written. */
  written?: string[];
  /** See `PodContext`. */
  undone?: string;
  lost?: KnownPod;
  judged?: Judgement;
  /** Its eviction was reported. */
  isNoted?: boolean;
  /** The namespace refuses a Pod that can be evicted. */
  isRefused?: boolean;
  /** Another Pod has the name of the app. */
  isTaken?: boolean;
  /** Until when the node that had the app before may delete its Pod. */
  freeBy?: number;
  /** When the server rejected a change, so that the Pod was replaced. */
  rejectedAt?: number;
}

export class PodStore {
  readonly #entries = new Map<string, AppPods>();
  readonly #pods = new ObjectStore<KnownPod>({
    idOf: ({ uid, resourceVersion }) => ({ key: uid, uid, resourceVersion }),
    groupOf: keyOfOwner,
  });
  /** The keys of entries by the keys of apps: the mirror of a local app may have another name. */
  readonly #keys = new Map<string, string>();

  get keys(): string[] {
    return [...this.#entries.keys()];
  }

  get(key: string): AppPods | undefined {
    return this.#entries.get(key);
  }

  /** Returns the keys of the entries that changed. */
  show(shown: ShownApp, now: number): string[] {
    const { owner, app, status } = shown;
    const [name, key] = [keyOf(app), appKey(owner.namespace, owner.name)];
    const changed = this.#keys.get(name) === key ? [] : this.removeApp(name);
    this.#keys.set(name, key);
    const entry = this.#entry(key);
    if (entry.shown?.status.phase !== status.phase) entry.changedAt = now;
    if (entry.shown?.owner.uid !== owner.uid) entry.isNoted = false;
    Object.assign(entry, { shown, isGone: false });
    return [...changed, key];
  }

  /** The app with this key is gone. Returns the keys of the entries that changed. */
  removeApp(app: string): string[] {
    const key = this.#keys.get(app);
    const entry = key && this.#entries.get(key);
    this.#keys.delete(app);
    if (!key || !entry) return [];
    Object.assign(entry, { shown: undefined, isGone: true });
    this.tidy(key);
    return [key];
  }

  /** Applies a Pod from the server; `state` is that which the server has just accepted, however it wrote it. Returns its key. */
  apply(object: Identified<Pod>, state?: string): string {
    const pod = readPod(object);
    this.#pods.apply(pod);
    const known = this.#pods.get(pod.uid);
    if (state && known?.resourceVersion === pod.resourceVersion) known.state = state;
    return this.#entry(keyOfOwner(pod)).key;
  }

  /** Applies a complete list. */
  replace(objects: Identified<Pod>[], version: string, rewound = false): void {
    const pods = objects.map(readPod);
    this.#pods.replace(pods, version, { rewound });
    for (const pod of pods) this.#entry(keyOfOwner(pod));
    for (const key of this.keys) this.tidy(key);
  }

  /** The Pod is gone. Returns its key. */
  removePod(pod: Pick<KnownPod, "namespace" | "owner" | "uid">): string {
    const key = keyOfOwner(pod);
    this.#pods.remove({ key: pod.uid, uid: pod.uid });
    this.tidy(key);
    return key;
  }

  /** Forgets an entry that has neither an app nor Pods, and gets none. */
  tidy(key: string): void {
    const entry = this.#entries.get(key);
    if (entry && !entry.shown && !entry.isBusy && entry.pods.length === 0) this.#entries.delete(key);
  }

  appOfPod(namespace: string, name: string): { namespace: string; name: string } | undefined {
    const found = this.#shownPods().find(({ pod }) => pod.name === name && pod.namespace === namespace);
    return found && splitAppKey(keyOf(found.shown.app));
  }

  /** Returns the key of the NCApp that shows the app with this key. */
  keyOf(app: string): string | undefined {
    return this.#keys.get(app);
  }

  podOf(app: string): { name: string; uid: string } | undefined {
    const entry = this.#entries.get(this.#keys.get(app) ?? "");
    return entry && shownPod(entry)?.pod;
  }

  /** Returns the Pods as they should be at the server. */
  list(node: PodNode, now: number): Pod[] {
    return this.#shownPods().map(({ shown, pod }) => {
      const { metadata, ...rest } = newPod(shown, node, pod.name);
      return {
        ...rest,
        metadata: { ...metadata, uid: pod.uid, creationTimestamp: pod.createdAt },
        status: podStatus(shown, node, pod.times, now),
      };
    });
  }

  #shownPods() {
    return [...this.#entries.values()].map(shownPod).filter((found) => found !== undefined);
  }

  #entry(key: string): AppPods {
    const pods = this.#pods;
    const entry = this.#entries.get(key) ?? {
      key,
      get pods() {
        return [...pods.group(key)];
      },
      changedAt: 0,
    };
    this.#entries.set(key, entry);
    return entry;
  }
}

function shownPod({ shown, pods }: AppPods): { shown: ShownApp; pod: KnownPod } | undefined {
  const pod = pods.find(({ isDeleting, owner }) => !isDeleting && owner.uid === shown?.owner.uid);
  return shown && pod && { shown, pod };
}

function keyOfOwner({ namespace, owner }: Pick<KnownPod, "namespace" | "owner">): string {
  return appKey(namespace, owner.name);
}
