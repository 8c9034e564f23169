/** NCAppSets and what belongs to them, as commands read them. */
import { keyOf, ownerSet, setLabels } from "../../api/names.ts";
import type { AppTemplate, NCAppSet } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { controllerRevisions, type KubeResource, ncappsets, resourcePath } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/watch.ts";
import type { KubeObject, ObjectMeta } from "../../kube/wire.ts";
import { closest } from "../../lib/closest.ts";
import { type AppName, fullName } from "../app-name.ts";

/** A ControllerRevision: a template that the set has or had. */
export interface Revision extends KubeObject {
  metadata: ObjectMeta & {
    name: string;
    creationTimestamp?: string;
    annotations?: Record<string, string>;
  };
  /** Larger numbers are newer. */
  revision: number;
  data?: AppTemplate;
}

export function describeSet(set: Pick<NCAppSet, "metadata">): string {
  return `set ${keyOf(set)}`;
}

export async function readSet(client: KubeClient, set: AppName): Promise<NCAppSet> {
  const list = "kubectl get ncappsets -A";
  return await client.request<NCAppSet>({ path: setPath(set) })
    .catch((error) => explainMissing(error, client, { resource: ncappsets, named: set, list }));
}

/** Turns a 404 into an error that suggests a similar name, or how to list all. */
export async function explainMissing(
  error: unknown,
  client: KubeClient,
  { resource, named, list }: { resource: KubeResource; named: AppName; list: string },
): Promise<never> {
  if (!hasStatus(error, 404)) throw error;
  const { items } = await listAll(client, { resource, namespace: named.namespace }).catch(explainMissingCRD);
  const near = closest(named.name, items.map(({ metadata }) => metadata.name));
  throw new Error(
    `no ${resource.kind} ${fullName(named)}; ${near ? `did you mean ${near}?` : `'${list}' lists all`}`,
  );
}

/** A list has no 404 of its own: the API server does not know the resource. */
export function explainMissingCRD(error: unknown): never {
  if (!hasStatus(error, 404)) throw error;
  throw new Error(
    "this cluster has no NCApps: install their CRD with 'nckubelet manifests | kubectl apply -f -'",
  );
}

export function setPath({ namespace, name }: AppName): string {
  return resourcePath(ncappsets, { namespace, name });
}

/** Returns the revisions of a set, the oldest first. */
export async function readRevisions(client: KubeClient, set: NCAppSet): Promise<Revision[]> {
  const { namespace } = set.metadata;
  const options = { resource: controllerRevisions, namespace, labelSelector: setLabels.revision };
  const { items } = await listAll<Revision>(client, options);
  return items.filter((item) => isOwnedBy(set, item)).sort((a, b) => a.revision - b.revision);
}

/** Returns the labels that apps of the set certainly have, as the API server reads a selector. */
export function labelSelectorOf({ spec: { selector } }: NCAppSet): string | undefined {
  const pairs = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.length > 0 ? pairs.join(",") : undefined;
}

export function isOwnedBy({ metadata: { uid } }: NCAppSet, object: { metadata: object }): boolean {
  return ownerSet(object)?.uid === uid;
}
