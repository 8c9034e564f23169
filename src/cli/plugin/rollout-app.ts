/** `kubectl ncapp rollout history|undo APP`: the versions of a single NCApp, which its node keeps and its status names. */
import { annotations, isMirror, keyOf, ownerSet } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ncappPath } from "../../kube/resources.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { type AppName, fullName } from "../app-name.ts";
import { versionTable } from "../screen/screen.ts";

/** Reads an app that belongs to no set; undefined if there is none. */
export async function findSingleApp(client: KubeClient, app: AppName): Promise<NCApp | undefined> {
  const found = await client.request<NCApp>({ path: ncappPath(app.namespace, app.name) }).catch((error) => {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  });
  const set = found && ownerSet(found);
  if (set) throw new Error(`${fullName(app)} belongs to set ${app.namespace}/${set.name}: name the set`);
  return found;
}

export function appHistoryLines(app: NCApp, now: number): string[] {
  const lines = versionTable(app.status ?? {}, now);
  return lines.length > 0 ? lines : [`${keyOf(app)} has no versions yet.`];
}

/** Asks the node for the version before; returns what to print. */
export async function undoApp(client: KubeClient, app: NCApp): Promise<string> {
  const key = keyOf(app);
  const target = versionToRestore(app);
  const { namespace = "", name, uid } = app.metadata;
  const body = { metadata: { uid, annotations: { [annotations.undoneAt]: new Date().toISOString() } } };
  await client.request({ method: "PATCH", path: ncappPath(namespace, name), body });
  return `${key} goes back to version ${target}`;
}

/** The version that an undo brings back: the last good one or, if that is in force, the one before it. */
function versionToRestore(app: NCApp): string {
  const key = keyOf(app);
  if (isMirror(app)) {
    throw new Error(
      `${key} is the mirror of an app on ${app.spec.nodeName}: use 'nckubelet undo ${key}' there`,
    );
  }
  const { revisions = [], observedGeneration = 0 } = app.status ?? {};
  if (observedGeneration < (app.metadata.generation ?? 0)) {
    throw new Error(`${key} has a change that its node has not seen: try again`);
  }
  const isOnTrial = revisions.some(({ state }) => state === "Trial");
  const target = revisions.find(({ state }) => state === (isOnTrial ? "Good" : "Previous"));
  if (target?.revision) return target.revision;
  throw new Error(`${key} has no other version that was good: there is nothing to undo`);
}
