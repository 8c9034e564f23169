/** Which apps a drain moves to other nodes, and why others stay. Pure. */
import { isMirror, ownerSet, schedulerManager } from "../names.ts";
import type { NCApp } from "../types.ts";
import { tolerates } from "./tolerations.ts";

/** Returns why a drain leaves the app on its node; undefined if it moves it. */
export function whyStays(app: NCApp): string | undefined {
  const { spec } = app;
  if (isMirror(app)) return "it comes from the node itself: use 'nckubelet stop' there";
  const set = ownerSet(app);
  // With replicas, the apps of a set have numbers, and the scheduler places them.
  if (set && app.metadata.name === `${set.name}-${spec.nodeName}`) {
    return `the set ${set.name} runs one app on each of its nodes`;
  }
  const cordon = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };
  if (tolerates(spec.tolerations ?? [], cordon)) {
    return "it tolerates cordoned nodes, and would be bound to the node again";
  }
  return undefined;
}

/** Reports whether the app has ended: elsewhere it would run again. */
export function hasEnded({ spec, status }: Pick<NCApp, "spec" | "status">): boolean {
  return (status?.phase === "Succeeded" || status?.phase === "Failed") && !spec.schedule;
}

export interface ManagedFields {
  manager?: string;
  subresource?: string;
  time?: string;
  fieldsV1?: { "f:spec"?: Record<string, unknown> };
}

/** Returns who set fields, as the API server recorded it. */
export function managersOf({ metadata }: Pick<NCApp, "metadata">): ManagedFields[] {
  return (metadata as { managedFields?: ManagedFields[] }).managedFields ?? [];
}

export function isBinder({ fieldsV1 }: ManagedFields): boolean {
  return fieldsV1?.["f:spec"]?.["f:nodeName"] !== undefined;
}

/** Returns who else than a scheduler set `spec.nodeName`, as the API server recorded it; undefined if none did. */
export function pinnedBy(app: Pick<NCApp, "metadata">): string | undefined {
  const owners = managersOf(app).filter(isBinder).map(({ manager = "" }) => manager);
  if (owners.length === 0) return "an unknown client";
  return owners.find((owner) => owner !== schedulerManager);
}
