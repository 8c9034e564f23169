/** The requests about Pods. Each names the uid, so that no other Pod of the same name is changed. All throw a KubeError. */
import type { KubeClient, KubeRequest } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/kube-error.ts";
import { objectProblem } from "../../kube/objects.ts";
import { pods, resourcePath } from "../../kube/resources.ts";
import type { Identified } from "../../kube/wire.ts";
import type { Pod } from "./pod-object.ts";
import type { KnownPod } from "./pod-plan.ts";
import type { PodStatus } from "./pod-status.ts";

type Named = Pick<KnownPod, "namespace" | "name" | "uid">;

export interface PodRequests {
  create(pod: Pod): Promise<Identified<Pod>>;
  read(pod: Omit<Named, "uid">): Promise<Identified<Pod>>;
  update(pod: Named, patch: object): Promise<Identified<Pod>>;
  report(pod: Named, status: PodStatus): Promise<Identified<Pod>>;
  /** Deletes the Pod at once: there is no kubelet that would do it after the grace period. */
  remove(pod: Named): Promise<void>;
}

const timeoutMs = 10_000;

export function createPodRequests(client: KubeClient, signal: AbortSignal): PodRequests {
  /** A 200 may be the page of a proxy: only a Pod counts as an answer. */
  const ask = async (request: KubeRequest) => {
    const pod = await client.request<Pod>({ timeoutMs, signal, ...request });
    const problem = objectProblem(pod, { resource: pods });
    if (!problem) return pod as Identified<Pod>;
    const { method = "GET", path } = request;
    const url = client.access.server.origin + path;
    throw new KubeError(`not a Pod: ${problem}`, { method, url, reason: "BadAnswer" });
  };
  const pathOf = ({ namespace, name }: Omit<Named, "uid">, subresource?: string) =>
    resourcePath(pods, { namespace, name, subresource });
  return {
    create: (pod) =>
      ask({
        method: "POST",
        path: resourcePath(pods, { namespace: pod.metadata?.namespace }),
        body: pod,
      }),
    read: (pod) => ask({ path: pathOf(pod) }),
    update: (pod, patch) => ask({ method: "PATCH", path: pathOf(pod), body: patch }),
    report: (pod, status) =>
      ask({
        method: "PATCH",
        path: pathOf(pod, "status"),
        // Merges conditions by their type: those of other clients stay.
        contentType: "application/strategic-merge-patch+json",
        body: { metadata: { uid: pod.uid }, status: statusPatch(status) },
      }),
    async remove(pod) {
      const preconditions = { uid: pod.uid };
      const body = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0, preconditions };
      await client.request({ method: "DELETE", path: pathOf(pod), body, timeoutMs, signal });
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
