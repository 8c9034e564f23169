/**
 * The slots of a set's apps: one per node, or a number of them. Says which apps stay, which are missing, and which must go now,
 * whatever is being rolled out.
 *
 * An app leaves its node at once if its own revision no longer chooses the node. If only the new revision does not, leaving is a
 * part of the rollout, within the budget.
 */
import { acceptsNew, choosesNode, keepsOld } from "../../api/placement/placement.ts";
import type { Action, App, Node, Revision, World } from "../types.ts";
import type { Health } from "./health.ts";
import { appName, ordinalOf } from "./names.ts";

/** The most apps that one plan creates, changes or deletes: the next one goes on. It bounds the memory and the time of a plan. */
export const maxChanges = 250;

/** An app of the set. */
export interface Slot {
  app: App;
  node?: Node;
  health: Health;
  /** Its node is lost: nobody knows how it does. */
  lost: boolean;
  /** It is being deleted, or will be by this plan: it is unavailable until it is gone. */
  deleting: boolean;
}

export interface Missing {
  name: string;
  node?: Node;
  /** Whether the revision for new apps fits there; if not, only the new revision does. */
  fitsBase: boolean;
}

export interface Slots {
  slots: Slot[];
  /** Of numbered apps, no more than one plan creates. */
  missing: Missing[];
  /** Names that another app has. */
  collisions: string[];
  desired: number;
  /** Deletions that do not wait for a rollout. */
  actions: Action[];
}

export interface SlotRules {
  /** The revision of new apps, and the one that apps are moving to. */
  base: Revision;
  target: Revision;
  revisionOf(app: App): Revision | undefined;
  healthOf(app: App): Health;
}

export function findSlots(world: World, own: readonly App[], rules: SlotRules): Slots {
  return world.set.spec.replicas === undefined ? onePerNode(world, own, rules) : numbered(world, own, rules);
}

/** Makes a slot of an app. */
function slotOf(app: App, node: Node | undefined, { healthOf }: SlotRules): Slot {
  return {
    app,
    node,
    health: healthOf(app),
    lost: node?.agent === "lost" || app.status?.phase === "Unknown",
    deleting: app.metadata.deletionTimestamp !== undefined,
  };
}

function onePerNode({ set, nodes, appNamed }: World, own: readonly App[], rules: SlotRules): Slots {
  const { base, target, revisionOf } = rules;
  const found: Slots = { slots: [], missing: [], collisions: [], desired: 0, actions: [] };
  const unseen = new Map(own.map((app) => [app.metadata.name, app]));
  for (const node of nodes.values()) {
    const name = appName(set.metadata.name, node.name);
    const app = unseen.get(name);
    unseen.delete(name);
    const wants = (revision: Revision) => choosesNode(revision.data!.spec, node.name, node.properties);
    const starts = (revision: Revision) =>
      node.agent === "fresh" && wants(revision) && acceptsNew(revision.data!.spec, node.properties);
    if (app) {
      const slot = slotOf(app, node, rules);
      const why = slot.deleting ? undefined : whyGone(app, node, revisionOf(app) ?? target);
      if (why !== undefined) found.actions.push({ kind: "delete", app, why });
      found.slots.push({ ...slot, deleting: slot.deleting || why !== undefined });
      if (why === undefined && !slot.lost && wants(target)) found.desired++;
      continue;
    }
    // An app that leaves with the rollout does not come back.
    const fitsBase = wants(target) && starts(base);
    if (!fitsBase && (target === base || !starts(target))) continue;
    if (wants(target)) found.desired++;
    if (appNamed(name)) found.collisions.push(name);
    else found.missing.push({ name, node, fitsBase });
  }
  for (const app of unseen.values()) {
    const slot = slotOf(app, undefined, rules);
    if (!slot.deleting) found.actions.push({ kind: "delete", app, why: "its node is gone" });
    found.slots.push({ ...slot, deleting: true });
  }
  return found;
}

/** Why an app must leave its node now; undefined if it may stay. */
export function whyGone(app: App, node: Node, { data }: Revision): string | undefined {
  const { nodeName } = app.spec;
  if (nodeName && nodeName !== node.name) return `it is bound to node ${nodeName}`;
  if (!choosesNode(data!.spec, node.name, node.properties)) return "its node no longer has the labels";
  return keepsOld(data!.spec, node.properties) ? undefined : "it does not tolerate a taint of its node";
}

function numbered({ set, nodes, appNamed }: World, own: readonly App[], rules: SlotRules): Slots {
  const { name } = set.metadata;
  const desired = set.spec.replicas ?? 0;
  const all = own.map((app) => slotOf(app, nodes.get(app.spec.nodeName ?? ""), rules));
  const alive = all.filter(({ deleting }) => !deleting);
  const victims = new Set(alive.toSorted(firstToGo).slice(0, Math.max(0, alive.length - desired)));
  const slots = all.map((slot) => victims.has(slot) ? { ...slot, deleting: true } : slot);
  const taken = new Set(own.map((app) => ordinalOf(name, app.metadata.name)));
  const missing: Missing[] = [];
  const collisions: string[] = [];
  // An app that is being deleted keeps its place until its last process has ended.
  const wanted = victims.size > 0 ? 0 : Math.min(maxChanges, desired - all.length);
  for (let ordinal = 0; missing.length < wanted; ordinal++) {
    if (taken.has(ordinal)) continue;
    const free = appName(name, ordinal);
    if (appNamed(free)) collisions.push(free);
    else missing.push({ name: free, fitsBase: true });
  }
  return {
    slots,
    missing,
    collisions,
    desired,
    actions: [...victims].map(({ app }) => ({ kind: "delete", app, why: "the set was scaled down" })),
  };
}

/** Unready apps go first, then the newest. */
function firstToGo(a: Slot, b: Slot): number {
  const isUp = ({ health, lost }: Slot) => health.ready && !lost ? 1 : 0;
  return isUp(a) - isUp(b) || created(b) - created(a) || (a.app.metadata.name < b.app.metadata.name ? 1 : -1);
}

function created({ app }: Slot): number {
  return Date.parse(app.metadata.creationTimestamp ?? "") || 0;
}
