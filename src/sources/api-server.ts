/**
 * Desired apps from the API server: the NCApps that are bound to this node.
 *
 * Guarantees: an app is removed only by a complete and valid list without it, by a deletion that the server told of, or because
 * it was bound to another node. An app whose spec this agent finds invalid (an older CRD let it through) is still wanted: it is
 * passed on with its problems, and the sync layer keeps what runs. Fields that are unknown here are passed over, as a newer
 * CRD may have them.
 * Caveat: mirrors of local apps are passed on too; who unites the sources knows them by their annotation.
 */
import { keyOf } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import { validateNCApp } from "../api/validate/validate.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { hasStatus, type KubeError } from "../kube/kube-error.ts";
import { ncapps } from "../kube/resources.ts";
import { followList, type FollowOptions, type WatchEvent } from "../kube/watch/watch.ts";
import type { DesiredApp, Source, SourceHealth, SourceProblem, SourceSink } from "./source.ts";

export interface ApiServerOptions {
  node: string;
  /** Only one namespace instead of all. */
  namespace?: string;
  name?: string;
  /** Times and hooks of the watch. */
  follow?: Omit<FollowOptions<NCApp>, "resource" | "namespace" | "fieldSelector" | "keep">;
  now?: () => number;
}

/** A source that follows the API server. */
export function createApiServerSource(
  client: KubeClient,
  { node, namespace, name = "api-server", follow, now = Date.now }: ApiServerOptions,
): Source {
  const where = client.access.describe();
  let health: SourceHealth = { ready: false, message: `not listed yet: ${where}`, since: new Date(now()) };
  let listedOnce = false;
  /** What is wrong with apps, by key, and with the server, by what was tried. */
  const invalid = new Map<string, SourceProblem[]>();
  const troubles = new Map<"list" | "watch", SourceProblem>();

  let reported = "[]";

  const report = (sink: SourceSink) => {
    const problems = [...troubles.values(), ...[...invalid.values()].flat()];
    if (reported !== JSON.stringify(problems)) sink.trouble(problems);
    reported = JSON.stringify(problems);
    const [trouble] = troubles.values();
    const message = trouble?.message ?? (listedOnce ? `following ${where}` : `not listed yet: ${where}`);
    const ready = listedOnce && !trouble;
    if (health.ready !== ready || health.message !== message) {
      health = { ready, message, since: new Date(now()) };
    }
  };

  const desired = (app: NCApp): DesiredApp => {
    const key = keyOf(app);
    const problems = problemsOf(app, key);
    if (problems.length === 0) invalid.delete(key);
    else invalid.set(key, problems);
    return { app, source: name, ...(problems.length > 0 && { problems }) };
  };

  const handle = (event: WatchEvent<NCApp>, sink: SourceSink) => {
    switch (event.type) {
      case "listed":
        invalid.clear();
        troubles.clear();
        listedOnce = true;
        sink.replace(event.items.map(desired));
        break;
      case "applied":
        sink.upsert(desired(event.object));
        break;
      case "deleted":
        invalid.delete(keyOf(event.object));
        sink.remove(keyOf(event.object), event.object.metadata.uid);
        break;
      case "alive":
        troubles.delete("watch");
        break;
      case "trouble":
        troubles.set(event.during, { message: explain(event.error), origin: where });
    }
    report(sink);
  };

  return {
    name,
    health: () => health,
    async run(sink, signal) {
      const keep = (app: NCApp) => app.spec?.nodeName === node;
      const fieldSelector = `spec.nodeName=${node}`;
      const events = followList(
        client,
        { ...follow, resource: ncapps, namespace, fieldSelector, keep },
        signal,
      );
      for await (const event of events) handle(event, sink);
    },
  };
}

function problemsOf(app: NCApp, origin: string): SourceProblem[] {
  return validateNCApp(app).filter(({ reason }) => reason !== "FieldUnknown")
    .map(({ field, message }) => ({ field, message: `${origin}: ${message}`, origin }));
}

function explain(error: KubeError): string {
  const hint = hasStatus(error, 404)
    ? " (is the NCApp CRD installed? `nckubelet manifests | kubectl apply -f -`)"
    : "";
  return error.message + hint;
}
