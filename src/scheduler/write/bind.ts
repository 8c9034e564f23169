/**
 * Binds apps to nodes, and takes them off.
 *
 * Guarantees: the patch carries the uid and the resourceVersion that the decision was made on. Whatever happened to the app since then,
 * be it another scheduler's bind, refuses it: no app is bound twice, and none that was recreated under the same name.
 */
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus, KubeError } from "../../kube/kube-error.ts";
import { isRefusal } from "./is-refusal.ts";
import { objectProblem } from "../../kube/objects.ts";
import { ncappPath, ncapps } from "../../kube/resources.ts";
import type { WrittenCaps } from "../namespaces/namespaces.ts";
import type { AppRecord } from "../types.ts";

export type WriteResult =
  | { kind: "done"; object: NCApp }
  /** It changed meanwhile, or is gone: look again. */
  | { kind: "outdated" }
  /** The server will not have it. */
  | { kind: "refused"; error: KubeError }
  /** No answer: it may have been written or not. */
  | { kind: "unknown"; error: KubeError };

export interface WriteOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** Binds an app, with the caps that its namespace gives it. */
export function bindApp(
  client: KubeClient,
  app: AppRecord,
  nodeName: string,
  defaults: WrittenCaps,
  options: WriteOptions = {},
): Promise<WriteResult> {
  return patchSpec(client, app, { nodeName, ...defaults }, options);
}

/** Takes an app off its node. */
export function unbindApp(
  client: KubeClient,
  app: AppRecord,
  options: WriteOptions = {},
): Promise<WriteResult> {
  return patchSpec(client, app, { nodeName: null }, options);
}

/** The app as the server has it now; undefined where it is gone. Throws a KubeError where there is no answer. */
export async function readAppNow(
  client: KubeClient,
  { namespace, name }: AppRecord,
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

async function patchSpec(
  client: KubeClient,
  { namespace, name, uid, resourceVersion }: AppRecord,
  spec: object,
  options: WriteOptions,
): Promise<WriteResult> {
  const path = ncappPath(namespace, name);
  const body = { metadata: { uid, resourceVersion }, spec };
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
    return { kind: isRefusal(error) ? "refused" : "unknown", error };
  }
}

/** A version that is not the latest is a 409; a uid that is not the object's is a 422 (seen with 1.20). */
function isOutdated({ status, message }: KubeError): boolean {
  return status === 409 || status === 404 || status === 422 && message.includes("metadata.uid");
}

/** What passes for success may still be the page of a proxy: nothing is concluded from it. */
function checked(client: KubeClient, path: string, object: NCApp): NCApp {
  const problem = objectProblem(object, { resource: ncapps });
  if (!problem) return object;
  const url = client.access.server.origin + path;
  throw new KubeError(`not an NCApp: ${problem}`, { method: "PATCH", url, reason: "BadAnswer" });
}
