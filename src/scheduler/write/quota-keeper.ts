/** Keeps `status.used` of ResourceQuotas as the bound apps have it. */
import type { V1ResourceQuota } from "@kubernetes/client-node";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { resourcePath, resourceQuotas } from "../../kube/resources.ts";
import type { Wire } from "../../kube/wire.ts";
import type { Logger } from "../../lib/log.ts";
import { type Quota, quotaStatusPatch } from "../namespaces/namespaces.ts";
import { isLater } from "../../kube/resource-version.ts";
import type { World } from "../state/state.ts";

export interface QuotaKeeper {
  /** One look at all quotas; those that do not tell the truth are written, each once at a time. */
  tick(): void;
}

export function createQuotaKeeper(
  { client, world, log, signal }: { client: KubeClient; world: World; log: Logger; signal: AbortSignal },
): QuotaKeeper {
  const busy = new Set<string>();

  const write = async ({ namespace, name, uid, resourceVersion }: Quota, status: object) => {
    busy.add(uid);
    try {
      const path = resourcePath(resourceQuotas, { namespace, name, subresource: "status" });
      const body = { metadata: { uid, resourceVersion }, status };
      applyAnswer(await client.request<Wire<V1ResourceQuota>>({ method: "PATCH", path, body, signal }));
    } catch (error) {
      // Written by another at the same time: the watch brings it, the next tick looks again.
      const isPassing = signal.aborted || hasStatus(error, 409) || hasStatus(error, 404);
      if (!isPassing) {
        log.warn("cannot write the status of a quota", { quota: `${namespace}/${name}`, error });
      }
    } finally {
      busy.delete(uid);
    }
  };

  /** The watch may have been quicker, with newer news or with the quota's end. */
  const applyAnswer = (object: Wire<V1ResourceQuota>) => {
    const { namespace = "", uid, resourceVersion = "" } = object.metadata ?? {};
    const known = world.rules.quotas(namespace).find((quota) => quota.uid === uid);
    if (known && isLater(resourceVersion, known.resourceVersion)) world.applyQuota(object);
  };

  return {
    tick() {
      for (const quota of world.rules.allQuotas()) {
        const patch = quotaStatusPatch(quota, world.accounts.ledger.of(quota.namespace));
        if (patch && !busy.has(quota.uid)) void write(quota, patch);
      }
    },
  };
}
