/**
 * Performs the actions of a plan at the API server.
 *
 * Guarantees: a write carries the uid and the resourceVersion that the plan was made from, so whatever changed since then rejects
 * it. An update of an app carries its spec, labels and annotations instead of the resourceVersion: reports of agents, which the watch
 * brings late when many arrive, reject none. Answers go to the store at once. A write whose answer was lost is read again before the set is planned again. An
 * object without an owner is adopted only after the set was read again: the garbage collector deletes what a deleted set owns.
 */
import { apiVersion, kind, setLabels } from "../api/names.ts";
import type { AppTemplate, NCAppSetStatus } from "../api/types.ts";
import type { KubeClient, KubeRequest } from "../kube/client/client.ts";
import { hasStatus, KubeError, wasAnswered } from "../kube/kube-error.ts";
import { objectProblem, select } from "../kube/objects.ts";
import {
  apiVersionOf,
  controllerRevisions,
  type KubeResource,
  ncapps,
  ncappsets,
  resourcePath,
} from "../kube/resources.ts";
import { applyMergePatch, mergePatch } from "../lib/objects.ts";
import { ownerOf } from "./plan/plan.ts";
import { slim } from "./slim.ts";
import type { ObjectStore, Store } from "./store.ts";
import type { Action, App, AppSet, Meta, NewApp, Revision } from "./types.ts";

/** `outdated`: the object has changed, and the store has its newest version now. `unchanged`: there was nothing to write. */
export type Written = "done" | "outdated" | "unchanged";

export interface SetWriter {
  perform(set: AppSet, action: Action): Promise<Written>;
  writeStatus(set: AppSet, status: NCAppSetStatus): Promise<Written>;
  /** Reads the objects of earlier writes whose answers were lost. Throws a KubeError as long as there is no answer. */
  readUnsure(set: AppSet): Promise<void>;
}

interface Kept<T extends { metadata: Meta }> {
  resource: KubeResource;
  objects: ObjectStore<T>;
  slim?: (object: T) => T;
}

export function createSetWriter(client: KubeClient, store: Store, signal: AbortSignal): SetWriter {
  const apps: Kept<App> = { resource: ncapps, objects: store.apps, slim };
  const revisions: Kept<Revision> = { resource: controllerRevisions, objects: store.revisions };
  const sets: Kept<AppSet> = { resource: ncappsets, objects: store.sets };
  /** By the uid of the set. */
  const unsure = new Map<string, Map<string, () => Promise<unknown>>>();

  const send = <T>(request: KubeRequest) => client.request<T>({ timeoutMs: 10_000, signal, ...request });

  const keep = <T extends { metadata: Meta }>(
    { resource, objects, slim }: Kept<T>,
    object: T,
    path: string,
  ) => {
    const problem = objectProblem(object, { resource });
    if (problem) {
      const url = client.access.server.origin + path;
      throw new KubeError(`not an object of this kind: ${problem}`, {
        method: "GET",
        url,
        reason: "BadAnswer",
      });
    }
    objects.apply(select<T>(object, { resource, slim })!);
  };

  /** Brings the newest version of an object into the store. */
  const read = async <T extends { metadata: Meta }>(
    kept: Kept<T>,
    { namespace, name, uid }: Partial<Meta>,
  ) => {
    const path = resourcePath(kept.resource, { namespace, name });
    try {
      keep(kept, await send<T>({ path }), path);
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
      if (uid) kept.objects.remove({ namespace: namespace!, name: name!, uid } as Meta, { seen: false });
    }
  };

  const write = async <T extends { metadata: Meta }>(
    set: AppSet,
    kept: Kept<T>,
    meta: Partial<Meta>,
    request: KubeRequest,
    use: (answer: T) => void,
  ): Promise<Written> => {
    try {
      use(await send<T>(request));
      return "done";
    } catch (error) {
      if (isOutdated(error)) {
        await read(kept, meta);
        const known = kept.objects.get(meta.namespace!, meta.name!);
        // Otherwise the server has another reason, and would reject it again.
        if (known?.metadata.resourceVersion !== meta.resourceVersion) return "outdated";
      } else if (!wasAnswered(error)) {
        const ofSet = unsure.get(set.metadata.uid) ?? new Map();
        unsure.set(set.metadata.uid, ofSet.set(request.path + (meta.name ?? ""), () => read(kept, meta)));
      }
      throw error;
    }
  };

  const create = <T extends { metadata: Meta }>(set: AppSet, kept: Kept<T>, name: string, body: object) => {
    const { namespace } = set.metadata;
    const path = resourcePath(kept.resource, { namespace });
    return write(
      set,
      kept,
      { namespace, name },
      { method: "POST", path, body },
      (answer) => keep(kept, answer, path),
    );
  };

  const patch = <T extends { metadata: Meta }>(
    set: AppSet,
    kept: Kept<T>,
    { metadata: { namespace, name, uid, resourceVersion } }: { metadata: Meta },
    { metadata = {}, ...parts }: { metadata?: object; [part: string]: unknown },
    subresource?: string,
  ) => {
    const path = resourcePath(kept.resource, { namespace, name, subresource });
    const body = { metadata: { ...metadata, uid, resourceVersion }, ...parts };
    const meta = { namespace, name, uid, resourceVersion };
    return write(set, kept, meta, { method: "PATCH", path, body }, (answer) => keep(kept, answer, path));
  };

  /** Applies a merge patch to the app that the plan has seen, and replaces what is in the server if that is the same. */
  const update = (set: AppSet, app: App, change: object) => {
    const { namespace, name, uid, resourceVersion, generation, labels, annotations } = app.metadata;
    const path = resourcePath(ncapps, { namespace, name });
    const next = applyMergePatch(app, change) as App;
    // Each change of the spec is a new generation. What is absent cannot be tested: an app that was made by hand may have no annotations.
    const seen = annotations ? { uid, generation, labels, annotations } : { uid, resourceVersion };
    const body = [
      ...Object.entries(seen).map(([field, value]) => ({ op: "test", path: `/metadata/${field}`, value })),
      { op: "add", path: "/metadata/labels", value: next.metadata.labels },
      { op: "add", path: "/metadata/annotations", value: next.metadata.annotations },
      { op: "add", path: "/spec", value: next.spec },
    ];
    const request = { method: "PATCH", path, body, contentType: "application/json-patch+json" } as const;
    const meta = { namespace, name, uid, resourceVersion };
    return write(set, apps, meta, request, (answer) => keep(apps, answer, path));
  };

  const remove = <T extends { metadata: Meta }>(
    set: AppSet,
    kept: Kept<T>,
    { metadata }: { metadata: Meta },
  ) => {
    const { namespace, name, uid, resourceVersion } = metadata;
    const path = resourcePath(kept.resource, { namespace, name });
    const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid, resourceVersion } };
    return write<T>(
      set,
      kept,
      { namespace, name, uid, resourceVersion },
      { method: "DELETE", path, body },
      (answer) => {
        // With a finalizer, the server answers with the object, which is being deleted now; without one it is gone.
        if (answer.metadata?.deletionTimestamp && answer.metadata.uid === uid) keep(kept, answer, path);
        else kept.objects.remove(metadata, { seen: false });
      },
    );
  };

  /** Reports whether the set is still there, by what the server has now. */
  const mayOwn = async ({ metadata }: AppSet) => {
    await read(sets, metadata);
    const known = store.sets.get(metadata.namespace, metadata.name);
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
          return await update(set, action.app, action.patch);
        case "delete":
          return await remove(set, apps, action.app);
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

/** A changed version is answered with 409, another uid and a test that fails with 409 or 422, an object that is gone with 404. */
function isOutdated(error: unknown): boolean {
  return hasStatus(error, 409) || hasStatus(error, 404) || hasStatus(error, 422);
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
  const labels = { ...data.metadata.labels, [setLabels.revision]: hash };
  return {
    apiVersion: apiVersionOf(controllerRevisions),
    kind: controllerRevisions.kind,
    metadata: { namespace, name, labels, ownerReferences: [ownerOf(set)] },
    revision,
    data,
  };
}
