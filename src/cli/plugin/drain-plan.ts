/** Decides what `kubectl ncapp drain` does with each app of a node. Pure. */
import { isMirror, ownerSet } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import { schedulerManager } from "../../scheduler/client.ts";
import { tolerates } from "../../api/placement/placement.ts";

export interface DrainPlan {
  /** To unbind, so that the scheduler places them elsewhere. */
  evict: NCApp[];
  /** No longer bound to the node, or being deleted, but not stopped yet. */
  leaving: NCApp[];
  /** Pinned to the node: whoever set `spec.nodeName` may set it again. */
  pinned: { app: NCApp; by: string }[];
  /** They stay. */
  ignored: { app: NCApp; why: string }[];
}

export function planDrain(apps: readonly NCApp[], node: string, { force = false } = {}): DrainPlan {
  const plan: DrainPlan = { evict: [], leaving: [], pinned: [], ignored: [] };
  for (const app of apps) {
    const isBound = app.spec.nodeName === node;
    if (!isBound && !isHeldBy(node, app)) continue;
    const why = isBound ? whyIgnored(app) : undefined;
    const by = pinnedBy(app);
    if (!isBound || app.metadata.deletionTimestamp) plan.leaving.push(app);
    else if (why) plan.ignored.push({ app, why });
    else if (by !== undefined && !force) plan.pinned.push({ app, by });
    else plan.evict.push(app);
  }
  return plan;
}

/** Reports whether processes of the app may exist on the node: its agent has taken it on and has not let it go. */
export function isHeldBy(node: string, { status }: NCApp): boolean {
  return status?.nodeName === node;
}

function whyIgnored(app: NCApp): string | undefined {
  const { spec, status } = app;
  if (isMirror(app)) {
    return "it comes from the node itself: use 'nckubelet stop' there";
  }
  const set = ownerSet(app);
  // With replicas, the apps of a set have numbers, and the scheduler places them.
  if (set && app.metadata.name === `${set.name}-${spec.nodeName}`) {
    return `the set ${set.name} runs one app on each of its nodes`;
  }
  const hasEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
  if (hasEnded && !spec.schedule) return "it has ended, and would run again elsewhere";
  const cordon = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };
  if (tolerates(spec.tolerations ?? [], cordon)) {
    return "it tolerates cordoned nodes, and would be bound to the node again";
  }
  return undefined;
}

interface ManagedFields {
  manager?: string;
  fieldsV1?: { "f:spec"?: Record<string, unknown> };
}

/** Returns who else than a scheduler set `spec.nodeName`, as the API server recorded it; undefined if none did. */
function pinnedBy({ metadata }: NCApp): string | undefined {
  const { managedFields = [] } = metadata as { managedFields?: ManagedFields[] };
  const owners = managedFields.filter(({ fieldsV1 }) => fieldsV1?.["f:spec"]?.["f:nodeName"] !== undefined)
    .map(({ manager = "" }) => manager);
  if (owners.length === 0) return "an unknown client";
  return owners.find((owner) => owner !== schedulerManager);
}
