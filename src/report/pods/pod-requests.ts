/** The requests about Pods. Each names the uid, so that no other Pod of the same name is changed. All throw a KubeError. */
import type { KubeClient } from "../../kube/client/client.ts";
import { objectsOf } from "../../kube/guarded-write.ts";
import { pods } from "../../kube/resources.ts";
import type { Identified } from "../../kube/wire.ts";
import type { Pod } from "./pod-object.ts";
import type { KnownPod } from "./pod-plan.ts";
import type { PodStatus } from "./pod-status.ts";

type Named = Pick<KnownPod, "namespace" | "name" | "uid">;

export interface PodRequests {
  create(pod: Pod): Promise<Identified<Pod>>;
  read(pod: Omit<Named, "uid">): Promise<Identified<Pod> | undefined>;
  update(pod: Named, patch: object): Promise<Identified<Pod>>;
  report(pod: Named, status: PodStatus): Promise<Identified<Pod>>;
  /** Deletes the Pod at once: there is no kubelet that would do it after the grace period. */
  remove(pod: Named): Promise<void>;
}

export function createPodRequests(client: KubeClient, signal: AbortSignal): PodRequests {
  const objects = objectsOf<Pod>(client, pods, { signal });
  return {
    create: objects.create,
    read: objects.read,
    // Without the resourceVersion: a Pod's labels and status do not depend on what others write to it.
    update: ({ namespace, name, uid }, patch) => objects.patch({ namespace, name, uid }, patch),
    report: ({ namespace, name, uid }, status) =>
      objects.patch({ namespace, name, uid, subresource: "status" }, { status: statusPatch(status) }, {
        // Merges conditions by their type: those of other clients stay.
        contentType: "application/strategic-merge-patch+json",
      }),
    async remove({ namespace, name, uid }) {
      await objects.remove({ namespace, name, uid }, { gracePeriodSeconds: 0 });
    },
  };
}

/**
 * A strategic merge patch to this status. It merges conditions field by field, so what one has lost is null. The server decides
 * the QoS class, and lets nobody change it.
 */
function statusPatch({ qosClass: _, podIPs, conditions = [], reason, message, ...rest }: PodStatus): object {
  const said = (fields: { reason?: string; message?: string }) => ({
    reason: fields.reason ?? null,
    message: fields.message ?? null,
  });
  return {
    ...rest,
    ...said({ reason, message }),
    ...(podIPs ? { podIPs: [{ $patch: "replace" }, ...podIPs] } : {}),
    conditions: conditions.map((condition) => ({ ...condition, ...said(condition) })),
  };
}
