/**
 * Desired apps from the API server: the NCApps that are bound to this node.
 *
 * Guarantees: an app is removed only by a complete and valid list without it, by a deletion that the server reported, or
 * because it was bound to another node. An app whose spec is invalid here (an older CRD let it through) is still desired: it is
 * passed on with its problems, and the sync layer keeps what runs. The same holds for a copy of a mirror that has placeholders
 * instead of secrets; any other copy of a mirror is an ordinary app. Unknown fields are ignored, since a newer CRD may have them.
 * An app that another node may still run is passed on with the name of that node (held-apps.ts).
 * Mirrors of local apps are passed on, too, unchecked: the reports need them, and let only the others through to the sync layer.
 */
import type { Desired } from "../api/app-shapes.ts";
import { isMirrorOf, keyOf } from "../api/names.ts";
import { isBinder, type ManagedFields, managersOf } from "../api/placement/placement.ts";
import type { NCApp } from "../api/types.ts";
import { findPlaceholders, validateNCApp } from "../api/validate/validate.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { hasStatus, type KubeError } from "../kube/kube-error.ts";
import { ncapps } from "../kube/resources.ts";
import { followList, type FollowOptions, type WatchEvent } from "../kube/watch/watch.ts";
import { createHeldApps, type HeldApps } from "./held-apps.ts";
import {
  createHealth,
  joinProblems,
  type Source,
  sourceNames,
  type SourceProblem,
  type SourceSink,
} from "./source.ts";

const name = sourceNames.apiServer;

export interface ApiServerOptions {
  node: string;
  /** Only one namespace instead of all. */
  namespace?: string;
  follow?: Omit<FollowOptions<NCApp>, "resource" | "namespace" | "fieldSelector" | "filter">;
}

export function createApiServerSource(
  client: KubeClient,
  { node, namespace, follow }: ApiServerOptions,
): Source {
  const server = client.access.describe();
  const health = createHealth(`not listed yet: ${server}`);
  let listedOnce = false;
  /** What is wrong with apps, by key, and with the server, by the request that failed. */
  const invalid = new Map<string, SourceProblem[]>();
  const failures = new Map<"list" | "watch", SourceProblem>();
  let reported = "[]";

  const report = (sink: SourceSink) => {
    const problems = [...failures.values(), ...[...invalid.values()].flat()];
    if (reported !== JSON.stringify(problems)) sink.reportProblems(problems);
    reported = JSON.stringify(problems);
    const [failure] = failures.values();
    const message = failure?.message ?? (listedOnce ? `following ${server}` : `not listed yet: ${server}`);
    health.set(listedOnce && !failure, message);
  };

  const desired = (app: NCApp, holders: HeldApps): Desired<NCApp> => {
    if (isMirrorOf(node, app)) return { app, source: name };
    const key = keyOf(app);
    const problems = problemsOf(app, key);
    if (problems.length === 0) invalid.delete(key);
    else invalid.set(key, problems);
    return {
      app,
      source: name,
      invalid: joinProblems(problems),
      heldBy: holders.heldBy(app),
      editedBy: managersOf(app)[0]?.manager,
    };
  };

  const handle = (event: WatchEvent<NCApp>, sink: SourceSink, holders: HeldApps) => {
    switch (event.type) {
      case "listed":
        invalid.clear();
        failures.clear();
        listedOnce = true;
        holders.retain(event.items);
        sink.replace(event.items.map((app) => desired(app, holders)));
        break;
      case "applied":
        sink.upsert(desired(event.object, holders));
        break;
      case "deleted":
        invalid.delete(keyOf(event.object));
        holders.remove(keyOf(event.object));
        sink.remove(keyOf(event.object), event.object.metadata.uid);
        break;
      case "alive":
        failures.delete("watch");
        break;
      case "problem":
        failures.set(event.during, { message: explain(event.error), origin: server });
    }
    report(sink);
  };

  return {
    name,
    health: health.get,
    async run(sink, signal) {
      const filter = (app: NCApp) => app.spec?.nodeName === node;
      const fieldSelector = `spec.nodeName=${node}`;
      const events = followList(
        client,
        { streaming: true, ...follow, resource: ncapps, namespace, fieldSelector, filter, slim: withEditor },
        signal,
      );
      const onFreed = (app: NCApp) => sink.upsert(desired(app, holders));
      const holders = createHeldApps(client, { node, onFreed, signal });
      for await (const event of events) handle(event, sink, holders);
    },
  };
}

/** Keeps of all who manage fields only the one who changed the spec last, and those who bound the app. */
function withEditor(app: NCApp, whole: NCApp): NCApp {
  const all = managersOf(whole).filter(({ subresource }) => !subresource);
  const [last] = all.filter(({ fieldsV1 }) => fieldsV1?.["f:spec"])
    .sort((a, b) => (b.time ?? "") < (a.time ?? "") ? -1 : 1);
  if (!last?.manager) return app;
  const binders = all.filter(isBinder)
    .map(({ manager }) => ({ manager, fieldsV1: { "f:spec": { "f:nodeName": {} } } }));
  const managedFields: ManagedFields[] = [{ manager: last.manager }, ...binders];
  return { ...app, metadata: { ...app.metadata, managedFields } as NCApp["metadata"] };
}

function problemsOf(app: NCApp, origin: string): SourceProblem[] {
  const invalid = validateNCApp(app).filter(({ reason }) => reason !== "FieldUnknown");
  return [...invalid, ...findPlaceholders(app)]
    .map(({ field, message }) => ({ field, message: `${origin}: ${message}`, origin }));
}

function explain(error: KubeError): string {
  const hint = hasStatus(error, 404)
    ? " (is the NCApp CRD installed? `nckubelet manifests | kubectl apply -f -`)"
    : "";
  return error.message + hint;
}
