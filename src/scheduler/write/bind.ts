/**
 * The requests that bind an app to a node, unbind it, and read it again.
 *
 * Guarantees: a patch carries the uid and resourceVersion that the decision was based on, so any change since then, such as another
 * scheduler's bind, rejects it. No app is bound twice, and an app that was recreated under the same name is not bound by mistake.
 */
import { nodeFinalizer } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus, KubeError } from "../../kube/kube-error.ts";
import { objectProblem } from "../../kube/objects.ts";
import { ncappPath, ncapps } from "../../kube/resources.ts";
import type { WrittenCaps } from "../namespaces/namespaces.ts";
import type { SchedulerApp } from "../types.ts";

export type WriteResult =
  | { kind: "done"; object: NCApp }
  /** The app has changed or is gone: read it again. */
  | { kind: "outdated" }
  /** The server rejected it; retrying won't help. */
  | { kind: "refused"; error: KubeError }
  /** No answer: the write may or may not have happened. */
  | { kind: "unknown"; error: KubeError };

export interface WriteOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** Binds an app, writes the default caps of its namespace into its spec, and adds the finalizer that keeps it until it has stopped. */
export function bindApp(
  client: KubeClient,
  app: SchedulerApp,
  nodeName: string,
  defaults: WrittenCaps,
  options: WriteOptions = {},
): Promise<WriteResult> {
  const finalizers = app.finalizers.includes(nodeFinalizer) ? undefined : [...app.finalizers, nodeFinalizer];
  return patchApp(client, app, { finalizers, spec: { nodeName, ...defaults } }, options);
}

export function unbindApp(
  client: KubeClient,
  app: SchedulerApp,
  options: WriteOptions = {},
): Promise<WriteResult> {
  return patchApp(client, app, { spec: { nodeName: null } }, options);
}

/** Replaces the finalizers of an app; without any, a deleted app is gone. */
export function setFinalizers(
  client: KubeClient,
  app: SchedulerApp,
  finalizers: string[],
  options: WriteOptions = {},
): Promise<WriteResult> {
  return patchApp(client, app, { finalizers: finalizers.length > 0 ? finalizers : null }, options);
}

/** Says that no node holds the app any more. */
export function releaseApp(
  client: KubeClient,
  app: SchedulerApp,
  options: WriteOptions = {},
): Promise<WriteResult> {
  return patchApp(client, app, { status: { nodeName: "" } }, options, "status");
}

/** Reads the app from the API server; undefined if it is gone. Throws a KubeError if there is no answer. */
export async function readAppNow(
  client: KubeClient,
  { namespace, name }: SchedulerApp,
  options: WriteOptions = {},
): Promise<NCApp | undefined> {
  const path = ncappPath(namespace, name);
  try {
    return checked(client, path, await client.request<NCApp>({ path, ...options }));
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

async function patchApp(
  client: KubeClient,
  { namespace, name, uid, resourceVersion }: SchedulerApp,
  { finalizers, ...parts }: { finalizers?: string[] | null; spec?: object; status?: object },
  options: WriteOptions,
  subresource?: "status",
): Promise<WriteResult> {
  const path = ncappPath(namespace, name, subresource);
  const body = { metadata: { uid, resourceVersion, finalizers }, ...parts };
  try {
    const object = await client.request<NCApp>({
      method: "PATCH",
      path,
      body,
      timeoutMs: 10_000,
      ...options,
    });
    return { kind: "done", object: checked(client, path, object) };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (isOutdated(error)) return { kind: "outdated" };
    return { kind: isRejected(error) ? "refused" : "unknown", error };
  }
}

/** Reports whether a request failed permanently (4xx): retrying won't help. */
export function isRejected(error: unknown): boolean {
  if (!(error instanceof KubeError) || error.status === undefined) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 429;
}

/** An old resourceVersion is answered with 409, another object's uid with 422 (Kubernetes 1.20). */
function isOutdated({ status, message }: KubeError): boolean {
  return status === 409 || status === 404 || status === 422 && message.includes("metadata.uid");
}

/** A 200 may still be the page of a proxy: only an NCApp counts as an answer. */
function checked(client: KubeClient, path: string, object: NCApp): NCApp {
  const problem = objectProblem(object, { resource: ncapps });
  if (!problem) return object;
  const url = client.access.server.origin + path;
  throw new KubeError(`not an NCApp: ${problem}`, { method: "PATCH", url, reason: "BadAnswer" });
}
