/**
 * Deletes the Pod by which a lost node showed an app, so that its next node shows the app under the same name: nothing else would
 * delete it before the node returns.
 */
import type { V1Pod } from "@kubernetes/client-node";
import { group, kind } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectsOf } from "../../kube/guarded-write.ts";
import { hasStatus, isOutdated } from "../../kube/kube-error.ts";
import { pods } from "../../kube/resources.ts";
import type { Wire } from "../../kube/wire.ts";
import type { SchedulerApp } from "../types.ts";
import type { LeaderContext } from "./context.ts";

/** Returns a function that never throws. Without the right, which comes with the admission policies, the app gets a Pod with another name. */
export function createPodRelease(
  client: KubeClient,
  { log, signal }: Pick<LeaderContext, "log" | "signal">,
): (app: SchedulerApp) => Promise<void> {
  const objects = objectsOf<Wire<V1Pod>>(client, pods, { signal });
  return async ({ key, namespace, name, uid, nodeName }) => {
    try {
      const pod = await objects.read({ namespace, name });
      const isItsOwn = pod?.spec?.nodeName === nodeName &&
        pod?.metadata.ownerReferences?.some((owner) =>
          owner.kind === kind && owner.apiVersion.startsWith(`${group}/`) &&
          owner.uid === uid
        );
      if (!pod || !isItsOwn) return;
      await objects.remove({ namespace, name, uid: pod.metadata.uid }, { gracePeriodSeconds: 0 });
    } catch (error) {
      if (signal.aborted || isOutdated(error)) return;
      const write = hasStatus(error, 403) ? log.debug : log.warn;
      write("cannot delete the Pod that a lost node has left", { app: key, error });
    }
  };
}
