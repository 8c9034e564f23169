/**
 * The requests about apps. What the API server answers goes to the cluster state at once.
 *
 * Guarantees: a patch carries the uid and resourceVersion that the decision was based on, so any change since then, such as another
 * scheduler's bind, rejects it. No app is bound twice, and an app that was recreated under the same name is not bound by mistake.
 */
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectsOf, writeNewest } from "../../kube/guarded-write.ts";
import { ncapps } from "../../kube/resources.ts";
import type { ClusterState } from "../state/state.ts";
import type { SchedulerApp } from "../types.ts";

/** A merge patch of an app or of its status. */
export type AppChange =
  | { metadata?: { finalizers?: string[] | null }; spec?: object; status?: undefined }
  | { status: object };

/** All methods throw a KubeError. */
export interface AppWrites {
  patch(app: SchedulerApp, change: AppChange): Promise<void>;
  /** Patches the app by what `decide` returns for its newest version, and returns whether there was something to write. */
  update(app: SchedulerApp, decide: (newest: SchedulerApp) => AppChange | undefined): Promise<boolean>;
  /** Reads the app; undefined if it is gone. */
  refresh(app: SchedulerApp): Promise<SchedulerApp | undefined>;
}

export function createAppWrites(
  client: KubeClient,
  { apps }: Pick<ClusterState, "apps">,
  signal: AbortSignal,
): AppWrites {
  const objects = objectsOf<NCApp>(client, ncapps, { signal });
  const patch = async (app: SchedulerApp, change: AppChange) =>
    apps.applyAnswer(await objects.patch({ ...app, subresource: change.status && "status" }, { ...change }));
  const refresh = async (app: SchedulerApp) => {
    const object = await objects.read(app);
    if (object) apps.applyAnswer(object);
    else apps.forget(app.key, app.uid);
    return apps.get(app.key);
  };
  return {
    patch,
    refresh,
    update: (app, decide) =>
      writeNewest(app, {
        read: () => refresh(app),
        async write(newest) {
          const change = newest && decide(newest);
          if (change) await patch(newest, change);
          return change !== undefined;
        },
        signal,
      }),
  };
}
