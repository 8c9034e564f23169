/**
 * The Pod that shows an app, for requests that go through the API server to the app's node. So no credential of the user reaches a
 * node: the API server decides what the user may do, and connects to the node itself.
 */
import { group, keyOf, kind } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { pods } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/watch.ts";
import type { KubeObject, ObjectMeta } from "../../kube/wire.ts";
import type { AppName } from "../app-name.ts";

type Owned = KubeObject & {
  metadata?: ObjectMeta & { ownerReferences?: { apiVersion: string; kind: string; uid: string }[] };
};

/** Finds the Pod by its owner: its name may differ from that of the app. */
export async function findPod(client: KubeClient, app: NCApp): Promise<AppName> {
  const { metadata: { namespace, uid }, spec: { nodeName }, status } = app;
  const key = keyOf(app);
  if (!nodeName) {
    const why = status?.message ? ` (${status.message})` : "";
    throw new Error(`${key} has no node yet${why}; see 'kubectl ncapp describe ${key}'`);
  }
  const isOfApp = ({ metadata }: Owned) =>
    metadata?.ownerReferences?.some((owner) =>
      owner.kind === kind && owner.apiVersion.startsWith(`${group}/`) && owner.uid === uid
    ) ?? false;
  const fieldSelector = `spec.nodeName=${nodeName}`;
  const { items: [pod] } = await listAll<Owned>(client, {
    resource: pods,
    namespace,
    fieldSelector,
    filter: isOfApp,
  });
  if (pod) return { namespace: pod.metadata.namespace!, name: pod.metadata.name };
  throw new Error(
    `${key} has no Pod, through which kubectl reaches it. Its agent on ${nodeName} makes none on the Node of a kubelet, with ` +
      `--pods never, and where the API server refuses them: its log says so. On ${nodeName}, 'nckubelet logs ${key}' and ` +
      `'nckubelet exec ${key}' work without`,
  );
}
