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
import type { KubeClient, Priority } from "../../kube/client/client.ts";
import { objectsOf, writeNewest } from "../../kube/guarded-write.ts";
import { ncapps } from "../../kube/resources.ts";
import { statusDelta, storedStatus } from "./delta.ts";

export interface ReportTarget {
  namespace: string;
  name: string;
  uid: string;
  /** The version of the object that the status beside it was seen in. */
  resourceVersion?: string;
}

/** Identifies an object of the API server; with its version only where that is known to be the server's newest. */
export function refOf({ metadata }: Pick<NCApp, "metadata">): ReportTarget {
  const { namespace = "", name, uid = "", resourceVersion } = metadata;
  return { namespace, name, uid, ...(resourceVersion ? { resourceVersion } : {}) };
}

/** The status at the server, bound to this node; without a version it may be outdated. */
export interface KnownStatus {
  status?: NCAppStatus;
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
  signal: AbortSignal;
}

/** Sends what differs between `known` and `wanted()`, which is called as late as possible. Throws a KubeError. */
export async function sendStatus(
  client: KubeClient,
  target: ReportTarget,
  known: KnownStatus,
  wanted: () => NCAppStatus,
  { node, ...options }: SendOptions,
): Promise<SendResult> {
  const objects = objectsOf<NCApp>(client, ncapps, options);
  return await writeNewest<KnownStatus & { isForeign?: boolean }, SendResult>(
    known.resourceVersion === undefined ? undefined : known,
    {
      async read() {
        const app = await objects.read(target);
        if (!app) return undefined;
        const { metadata: { uid, resourceVersion }, spec, status } = app;
        return { status, resourceVersion, isForeign: uid !== target.uid || spec?.nodeName !== node };
      },
      async write(newest) {
        if (!newest) return { kind: "missing" };
        const { isForeign, ...known } = newest;
        if (isForeign) return { kind: "foreign" };
        const status = wanted();
        const delta = statusDelta(known.status, status);
        if (!delta) return { kind: "same", known };
        const based = { ...target, resourceVersion: known.resourceVersion, subresource: "status" };
        const { metadata: { resourceVersion }, status: stored } = await objects.patch(based, {
          status: delta,
        });
        return { kind: "sent", known: { status: storedStatus(stored, status), resourceVersion } };
      },
      signal: options.signal,
    },
  );
}
