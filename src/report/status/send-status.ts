/**
 * Sends one status to the server.
 *
 * Guarantees: only the object with the given uid is written, and only a version of it that is bound to this node: an agent that
 * does not know yet that its app was unbound, or bound elsewhere, overwrites nothing. The uid in the patch does not ensure that:
 * for custom resources, API servers (seen with 1.20) accept a patch of `/status` with any uid. The resourceVersion does: it is
 * in every patch, uid and node of that version were checked, and both are read again when the object has changed meanwhile. It
 * also keeps conditions that other clients wrote in between.
 */
import type { NCApp, NCAppStatus } from "../../api/types.ts";
import type { KubeClient, KubeRequest, Priority } from "../../kube/client/client.ts";
import { hasStatus, KubeError } from "../../kube/kube-error.ts";
import { objectProblem } from "../../kube/objects.ts";
import { ncappPath, ncapps } from "../../kube/resources.ts";
import { statusDelta, storedStatus } from "./delta.ts";

export interface ReportTarget {
  namespace: string;
  name: string;
  uid: string;
  /** The version of the object that the status beside it was seen in. */
  resourceVersion?: string;
}

/** The status at the server, bound to this node; without a version it may be outdated. */
export interface KnownStatus extends Versioned {
  status?: NCAppStatus;
}

interface Versioned {
  resourceVersion?: string;
}

/** `missing`: no such object. `foreign`: another object has its name, or it is not bound to this node. */
export type SendResult =
  | { kind: "sent" | "same"; known: KnownStatus }
  | { kind: "missing" }
  | { kind: "foreign" };

export interface SendOptions {
  /** The node whose agent this is. */
  node: string;
  priority: Priority;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Conflicts in a row after which the write fails: another client writes all the time. */
const maxConflicts = 4;

/** Sends what differs between `known` and `wanted()`, which is called as late as possible. Throws a KubeError. */
export async function sendStatus(
  client: KubeClient,
  target: ReportTarget,
  known: KnownStatus,
  wanted: () => NCAppStatus,
  { node, ...options }: SendOptions,
): Promise<SendResult> {
  const { namespace, name, uid } = target;
  for (let conflicts = 0;;) {
    try {
      if (known.resourceVersion === undefined) {
        const { metadata, spec, status } = await askForApp(client, target, {
          path: ncappPath(namespace, name),
          ...options,
        });
        if (metadata.uid !== uid || spec?.nodeName !== node) return { kind: "foreign" };
        known = { status, resourceVersion: metadata.resourceVersion };
      }
      const status = wanted();
      const delta = statusDelta(known.status, status);
      if (!delta) return { kind: "same", known };
      const { metadata, status: stored } = await askForApp(client, target, {
        method: "PATCH",
        path: ncappPath(namespace, name, "status"),
        contentType: "application/merge-patch+json",
        body: { metadata: { uid, resourceVersion: known.resourceVersion }, status: delta },
        ...options,
      });
      return {
        kind: "sent",
        known: { status: storedStatus(stored, status), resourceVersion: metadata.resourceVersion },
      };
    } catch (error) {
      if (hasStatus(error, 404)) return { kind: "missing" };
      if (!hasStatus(error, 409) || ++conflicts > maxConflicts) throw error;
      known = {};
    }
  }
}

/** Sends a request and checks the answer: a 200 may come from a proxy, and is then an error. */
export async function askForApp(
  client: KubeClient,
  { namespace }: ReportTarget,
  request: KubeRequest,
): Promise<NCApp> {
  const object = await client.request<NCApp>(request);
  const problem = objectProblem(object, { resource: ncapps, namespace });
  if (!problem) return object;
  const { method = "GET", path } = request;
  const url = client.access.server.origin + path;
  throw new KubeError(`not an NCApp: ${problem}`, { method, url, reason: "BadAnswer" });
}
