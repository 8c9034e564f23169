/**
 * Performs the actions of a plan at the API server.
 *
 * Guarantees: a write carries the uid and the resourceVersion that the plan was made from, so whatever changed since then rejects
 * it. An update of an app carries its spec, labels and annotations instead of the resourceVersion: reports of agents, which the watch
 * brings late when many arrive, reject none. Answers go to the store at once. A write whose answer was lost is read again before the set is planned again. An
 * object without an owner is adopted only after the set was read again: the garbage collector deletes what a deleted set owns.
 */
import { apiVersion, appKey, kind, setLabels } from "../api/names.ts";
import type { AppTemplate, NCAppSetStatus } from "../api/types.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type Objects, objectsOf } from "../kube/guarded-write.ts";
import { hasStatus, isOutdated, wasAnswered } from "../kube/kube-error.ts";
import type { ObjectStore } from "../kube/object-store.ts";
import { select } from "../kube/objects.ts";
import {
  apiVersionOf,
  controllerRevisions,
  type KubeResource,
  ncapps,
  ncappsets,
} from "../kube/resources.ts";
import { applyMergePatch, mergePatch } from "../lib/objects.ts";
import { ownerOf } from "./plan/plan.ts";
import { slim } from "./slim.ts";
import type { Store, Stored } from "./store.ts";
import type { Action, App, AppSet, Meta, NewApp } from "./types.ts";

/** `outdated`: the object has changed, and the store has its newest version now. `unchanged`: there was nothing to write. */
export type Written = "done" | "outdated" | "unchanged";

export interface SetWriter {
  perform(set: AppSet, action: Action): Promise<Written>;
  writeStatus(set: AppSet, status: NCAppSetStatus): Promise<Written>;
  /** Reads the objects of earlier writes whose answers were lost. Throws a KubeError as long as there is no answer. */
  readUnsure(set: AppSet): Promise<void>;
}

/** Objects at the server, and in the store as far as `slim` leaves them. */
interface Collection<T extends Stored> {
  resource: KubeResource;
  objects: Objects<T>;
  stored: ObjectStore<T>;
  slim?: (object: T) => T;
}

/** What is written; without a uid it is created. */
type Target = Pick<Meta, "namespace" | "name"> & Partial<Meta>;

export function createSetWriter(client: KubeClient, store: Store, signal: AbortSignal): SetWriter {
  const collectionOf = <T extends Stored>(
    resource: KubeResource,
    stored: ObjectStore<T>,
    slim?: (object: T) => T,
  ): Collection<T> => ({ resource, stored, slim, objects: objectsOf<T>(client, resource, { signal }) });
  const apps = collectionOf(ncapps, store.apps, slim);
  const revisions = collectionOf(controllerRevisions, store.revisions);
  const sets = collectionOf(ncappsets, store.sets);
  /** By the uid of the set. */
  const unsure = new Map<string, Map<string, () => Promise<unknown>>>();

  /** Brings the newest version of an object into the store. */
  const read = async <T extends Stored>({ objects, stored, ...selection }: Collection<T>, target: Target) => {
    const { namespace, name, uid = "" } = target;
    const object = await objects.read({ namespace, name });
    if (object) stored.apply(select(object, selection)!);
    else stored.forget({ key: appKey(namespace, name), uid });
  };

  /** `send` returns the object as it is then; undefined if it is gone. */
  const write = async <T extends Stored>(
    set: AppSet,
    collection: Collection<T>,
    target: Target,
    send: () => Promise<T | undefined>,
  ): Promise<Written> => {
    const { stored, ...selection } = collection;
    const { namespace, name, uid, resourceVersion } = target;
    const key = appKey(namespace, name);
    try {
      const object = await send();
      if (!object) stored.forget({ key, uid: uid! });
      else if (uid) stored.applyAnswer(select(object, selection)!);
      else stored.apply(select(object, selection)!);
      return "done";
    } catch (error) {
      // A test of a JSON patch that fails is answered with 422.
      if (isOutdated(error) || hasStatus(error, 422)) {
        await read(collection, target);
        // Otherwise the server has another reason, and would reject it again.
        if (stored.get(key)?.metadata.resourceVersion !== resourceVersion) return "outdated";
      } else if (!wasAnswered(error)) {
        const ofSet = unsure.get(set.metadata.uid) ?? new Map();
        unsure.set(
          set.metadata.uid,
          ofSet.set(`${collection.resource.plural} ${key}`, () => read(collection, target)),
        );
      }
      throw error;
    }
  };

  const create = <T extends Stored>(set: AppSet, collection: Collection<T>, name: string, body: object) =>
    write(
      set,
      collection,
      { namespace: set.metadata.namespace, name },
      () => collection.objects.create(body),
    );

  const patch = <T extends Stored>(
    set: AppSet,
    collection: Collection<T>,
    { metadata }: { metadata: Meta },
    change: object,
    subresource?: string,
  ) => write(set, collection, metadata, () => collection.objects.patch({ ...metadata, subresource }, change));

  /** Applies a merge patch to the app that the plan has seen, and replaces what is in the server if that is the same. */
  const update = (set: AppSet, app: App, change: object) => {
    const { uid, resourceVersion, generation, labels, annotations } = app.metadata;
    const next = applyMergePatch(app, change) as App;
    // Each change of the spec is a new generation. What is absent cannot be tested: an app that was made by hand may have no annotations.
    const seen = annotations ? { uid, generation, labels, annotations } : { uid, resourceVersion };
    const operations = [
      ...Object.entries(seen).map(([field, value]) => ({ op: "test", path: `/metadata/${field}`, value })),
      { op: "add", path: "/metadata/labels", value: next.metadata.labels },
      { op: "add", path: "/metadata/annotations", value: next.metadata.annotations },
      { op: "add", path: "/spec", value: next.spec },
    ];
    return write(set, apps, app.metadata, () => apps.objects.patchTested(app.metadata, operations));
  };

  const remove = <T extends Stored>(
    set: AppSet,
    collection: Collection<T>,
    { metadata }: { metadata: Meta },
  ) => write(set, collection, metadata, () => collection.objects.remove(metadata));

  /** Reports whether the set is still there, by what the server has now. */
  const mayOwn = async ({ metadata }: AppSet) => {
    await read(sets, metadata);
    const known = store.sets.get(appKey(metadata.namespace, metadata.name));
    return known?.metadata.uid === metadata.uid && !known.metadata.deletionTimestamp;
  };

  return {
    async perform(set, action) {
      if (action.kind.startsWith("adopt") && !await mayOwn(set)) return "outdated";
      switch (action.kind) {
        case "createRevision":
          return await create(set, revisions, action.name, newRevision(set, action));
        case "adoptRevision":
          return await patch(set, revisions, action.revision, {
            metadata: { ownerReferences: [ownerOf(set)] },
          });
        case "renumberRevision":
          return await patch(set, revisions, action.revision, { revision: action.number });
        case "deleteRevision":
          return await remove(set, revisions, action.revision);
        case "adopt": {
          const ownerReferences = [...action.app.metadata.ownerReferences ?? [], ownerOf(set)];
          return await patch(set, apps, action.app, { metadata: { ownerReferences } });
        }
        case "orphan": {
          const others = (action.app.metadata.ownerReferences ?? []).filter(({ uid }) =>
            uid !== set.metadata.uid
          );
          return await patch(set, apps, action.app, { metadata: { ownerReferences: others } });
        }
        case "create":
          return await create(set, apps, action.app.name, appOf(set, action.app));
        case "update":
        case "run":
          return await update(set, action.app, action.patch);
        case "delete":
          return await remove(set, apps, action.app);
        case "deleteSet":
          return await remove(set, sets, set);
      }
    },
    async writeStatus(set, status) {
      const change = mergePatch(set.status ?? {}, status);
      return change ? await patch(set, sets, set, { status: change }, "status") : "unchanged";
    },
    async readUnsure({ metadata: { uid } }) {
      for (const [key, readAgain] of unsure.get(uid) ?? []) {
        await readAgain();
        unsure.get(uid)?.delete(key);
      }
      unsure.delete(uid);
    },
  };
}

function appOf(set: AppSet, { name, labels, annotations, spec }: NewApp): object {
  const { namespace } = set.metadata;
  const metadata = { namespace, name, labels, annotations, ownerReferences: [ownerOf(set)] };
  return { apiVersion, kind, metadata, spec };
}

/** The ControllerRevision of a template. */
export function newRevision(
  set: AppSet,
  { name, hash, revision, data }: { name: string; hash: string; revision: number; data: AppTemplate },
): object {
  const { namespace } = set.metadata;
  // None of the template: a StatefulSet with the same labels would list it among its own.
  const labels = { [setLabels.revision]: hash };
  return {
    apiVersion: apiVersionOf(controllerRevisions),
    kind: controllerRevisions.kind,
    metadata: { namespace, name, labels, ownerReferences: [ownerOf(set)] },
    revision,
    data,
  };
}
