/** Keeps `status.used` of ResourceQuotas equal to what the bound apps request. */
import type { V1ResourceQuota } from "@kubernetes/client-node";
import { appKey } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectsOf } from "../../kube/guarded-write.ts";
import { isOutdated } from "../../kube/kube-error.ts";
import { resourceQuotas } from "../../kube/resources.ts";
import type { Wire } from "../../kube/wire.ts";
import { createKeyedWriter } from "../../report/keyed-writer.ts";
import { type Quota, quotaStatusPatch } from "../namespaces/namespaces.ts";
import { isLater } from "../../kube/resource-version.ts";
import type { LeaderContext } from "./context.ts";

/** Returns a function that checks all quotas and writes those whose status is wrong, one request at a time for each. */
export function createQuotaWriter(
  client: KubeClient,
  { cluster, log, signal }: Pick<LeaderContext, "cluster" | "log" | "signal">,
): () => void {
  const objects = objectsOf<Wire<V1ResourceQuota>>(client, resourceQuotas, { signal });
  /** The uids of quotas whose status is wrong. */
  const wrong = new Set<string>();
  /** The uids of quotas whose old keys were reported. */
  const reported = new Set<string>();
  const patchOf = (quota: Quota) => quotaStatusPatch(quota, cluster.accounts.usage.of(quota.namespace));

  const writer = createKeyedWriter<string>({
    what: "status changes of quotas",
    log,
    maxInFlight: 4,
    due: (uid) => wrong.has(uid) ? { at: 0, urgent: true } : undefined,
    async write(uid) {
      wrong.delete(uid);
      const quota = [...cluster.rules.allQuotas()].find((quota) => quota.uid === uid);
      const status = quota && patchOf(quota);
      if (!status) return "skipped";
      try {
        applyAnswer(await objects.patch({ ...quota, subresource: "status" }, { status }));
      } catch (error) {
        // Another client wrote at the same time: the watch delivers that, and the next tick checks again.
        if (isOutdated(error)) return;
        wrong.add(uid);
        throw error;
      }
    },
  });
  signal.addEventListener("abort", writer.close, { once: true });

  /** Ignores an answer that the watch has overtaken, with a newer version or with the deletion of the quota. */
  const applyAnswer = (object: Wire<V1ResourceQuota>) => {
    const { namespace = "", uid, resourceVersion = "" } = object.metadata ?? {};
    const known = cluster.rules.quotas(namespace).find((quota) => quota.uid === uid);
    if (known && isLater(resourceVersion, known.resourceVersion)) cluster.rules.applyQuota(object);
  };

  return () => {
    for (const quota of cluster.rules.allQuotas()) {
      if (quota.oldKeys.length > 0 && !reported.has(quota.uid)) {
        reported.add(quota.uid);
        log.warn(
          "a quota has keys that Kubernetes overwrites, so its status shows 0 as used; remove `requests.` from them",
          {
            quota: appKey(quota.namespace, quota.name),
            keys: quota.oldKeys.join(),
          },
        );
      }
      if (!patchOf(quota)) continue;
      wrong.add(quota.uid);
      writer.schedule(quota.uid);
    }
  };
}
