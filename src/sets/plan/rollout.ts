/**
 * Which apps a rollout changes now.
 *
 * Guarantees
 * - Budget: at most `maxUnavailable` apps are unavailable because of a rollout, of this revision or of one before it. An app that
 *   was not available anyway costs as much as any other. Apps on lost nodes do not count and are not changed.
 * - PodDisruptionBudgets: no app that is ready changes while a budget that covers it allows no disruption.
 * - A revision that fails reaches at most `maxUnavailable + maxFailed` apps: as long as fewer than `maxFailed` have failed, these
 *   leave the budget, and then the rollout stops.
 * - The decision is made from the objects alone, so it is the same after a restart.
 *
 * Apps that an earlier revision left unavailable are changed first, whatever canary and partition say: nothing is lost, and
 * otherwise they would hold the budget for good. An app of the stable revision that is just starting is not one of them.
 */
import { covers, maxUnavailableOf, noticeMs } from "../../api/placement/placement.ts";
import { setAnnotations } from "../../api/names.ts";
import { hasLabels } from "../../api/placement/placement.ts";
import type { AppSet, Node, Revision, World } from "../types.ts";
import { updatedAt } from "./health.ts";
import { ordinalOf } from "./names.ts";
import type { Missing, Slot } from "./slots.ts";

export type Candidate =
  | { kind: "update"; slot: Slot }
  /** The new revision does not choose the node. */
  | { kind: "remove"; slot: Slot }
  /** Only the new revision chooses the node. */
  | { kind: "add"; missing: Missing };

export interface RolloutInput {
  set: AppSet;
  slots: readonly Slot[];
  missing: readonly Missing[];
  target: Revision;
  /** The name of the revision that all apps had last; undefined for the first one. */
  stable?: string;
  /** Apps return to the stable revision. */
  back: boolean;
  /** The rollout was stopped. */
  stopped: boolean;
  revisionNameOf(slot: Slot): string | undefined;
  isCurrent(slot: Slot): boolean;
  /** With what they still allow; apps that are not ready cost them nothing. */
  budgets: World["budgets"];
  /** Whether the target chooses the node of an app. */
  chooses(slot: Slot): boolean;
  now: number;
}

export interface Rollout {
  chosen: Candidate[];
  /** Apps that are not as the target wants them, without those on lost nodes. */
  remaining: number;
  /** Why the others wait for a promotion: the canaries are available, or there are none. */
  waitsForPromotion?: "available" | "absent";
  maxUnavailable: number;
  /** The names of PodDisruptionBudgets for which apps wait. */
  waitsForBudgets: string[];
  /** When an app stops counting against the budget although nothing else happens. */
  until?: number;
}

export function planRollout(input: RolloutInput): Rollout {
  const { set, slots, stable, back, stopped, revisionNameOf, isCurrent, chooses, now } = input;
  const { paused, update = {}, progressDeadlineSeconds = 600 } = set.spec;
  const present = slots.filter(({ lost, deleting }) => !lost && !deleting);
  const current = new Set(present.filter((slot) => isCurrent(slot) && chooses(slot)));
  const candidates = candidatesOf(input, present, current);

  let until = Infinity;
  const isRecent = ({ app }: Slot) => {
    const end = updatedAt(app) + progressDeadlineSeconds * 1000;
    if (end > now) until = Math.min(until, end);
    return end > now;
  };
  /** Reports whether a rollout made the app unavailable, as far as the objects show. */
  const wasDisrupted = (slot: Slot) => {
    const { lost, deleting, health: { available, failed } } = slot;
    if (lost || available) return false;
    if (deleting) return true;
    if (current.has(slot)) return failed === undefined;
    return revisionNameOf(slot) !== stable || isRecent(slot);
  };
  const disrupted = new Set(slots.filter(wasDisrupted));
  const maxUnavailable = maxUnavailableOf(update.maxUnavailable, slots.filter(({ lost }) => !lost).length);
  let spent = disrupted.size;
  let underWay = [...disrupted].filter((slot) => current.has(slot)).length;

  const canaries = back ? "promoted" : canaryState(input, present, current);
  let toCanary = canaries === "promoted" ? Infinity : canaryBudget(set, current.size);
  let toPartition = back ? Infinity : candidates.length - (update.partition ?? 0);
  const chosen: Candidate[] = [];
  const left = new Map(input.budgets.map((budget) => [budget, budget.left]));
  const waitsForBudgets = new Set<string>();
  const halted = paused || update.type === "OnDelete" || stopped && !back;
  for (const candidate of halted ? [] : inOrder(candidates, set, disrupted)) {
    const slot = candidate.kind === "add" ? undefined : candidate.slot;
    const isDisrupted = slot !== undefined && disrupted.has(slot);
    // An app that is unavailable under a revision that failed cannot be made worse by going back.
    const isHarmless = back && slot !== undefined && !slot.health.available;
    const isUnfinished = isDisrupted && revisionNameOf(slot) !== stable;
    if (!isUnfinished && !isHarmless) {
      if (toPartition <= 0 || toCanary <= 0 || canaries !== "promoted" && !isCanary(candidate, set)) continue;
      if (!isDisrupted && spent >= maxUnavailable) continue;
    }
    if (!isHarmless && underWay >= maxUnavailable) continue;
    const covering = slot?.health.ready
      ? input.budgets.filter((budget) => covers(budget, slot.app.metadata.labels))
      : [];
    const spentBudget = covering.find((budget) => left.get(budget)! <= 0);
    if (spentBudget) waitsForBudgets.add(spentBudget.name);
    if (spentBudget) continue;
    for (const budget of covering) left.set(budget, left.get(budget)! - 1);
    chosen.push(candidate);
    if (!isDisrupted) spent++;
    underWay++;
    toPartition--;
    toCanary--;
  }
  return {
    chosen,
    remaining: candidates.length,
    ...(candidates.length > 0 && (canaries === "available" || canaries === "absent")
      ? { waitsForPromotion: canaries }
      : {}),
    maxUnavailable,
    waitsForBudgets: [...waitsForBudgets],
    ...(until < Infinity && candidates.length > 0 ? { until } : {}),
    // Until then changes of the last seconds count as unnoticed by the budgets.
    ...(waitsForBudgets.size > 0 ? { until: Math.min(until, now + noticeMs) } : {}),
  };
}

function candidatesOf(
  { missing, chooses }: RolloutInput,
  present: readonly Slot[],
  current: ReadonlySet<Slot>,
): Candidate[] {
  const changes = present.filter((slot) => !current.has(slot)).map((slot): Candidate => ({
    kind: chooses(slot) ? "update" : "remove",
    slot,
  }));
  const additions = missing.filter(({ fitsBase }) => !fitsBase);
  return [...changes, ...additions.map((missing): Candidate => ({ kind: "add", missing }))];
}

/** `absent`: nothing shows that the revision works, so it does not promote itself. */
function canaryState(
  { set, target, stable }: RolloutInput,
  present: readonly Slot[],
  current: ReadonlySet<Slot>,
): "promoted" | "available" | "absent" | "updating" {
  const { canary } = set.spec.update ?? {};
  const { name } = target.metadata;
  if (!canary || stable === name || set.metadata.annotations?.[setAnnotations.promote] === name) {
    return "promoted";
  }
  const isUp = (slot: Slot) => current.has(slot) && slot.health.available;
  if (canary.count === undefined) {
    const canaries = present.filter((slot) => isOnCanaryNode(slot.node, set));
    if (canaries.length === 0) return "absent";
    if (!canaries.every(isUp)) return "updating";
  } else if (present.filter(isUp).length < Math.min(canary.count, present.length)) return "updating";
  return canary.autoPromote ? "promoted" : "available";
}

/** How many more apps may be updated before the promotion. Apps that are updated already count. */
function canaryBudget({ spec }: AppSet, updated: number): number {
  const { count } = spec.update?.canary ?? {};
  return count === undefined ? Infinity : count - updated;
}

function isCanary(candidate: Candidate, set: AppSet): boolean {
  if (set.spec.update?.canary?.count !== undefined) return true;
  return isOnCanaryNode(candidate.kind === "add" ? candidate.missing.node : candidate.slot.node, set);
}

function isOnCanaryNode(node: Node | undefined, { spec }: AppSet): boolean {
  const { nodeSelector } = spec.update?.canary ?? {};
  return node !== undefined && nodeSelector !== undefined && hasLabels(node.properties.labels, nodeSelector);
}

/** Apps that a rollout made unavailable come first, then ordinals from the highest, nodes by name. */
function inOrder(candidates: readonly Candidate[], set: AppSet, disrupted: ReadonlySet<Slot>): Candidate[] {
  const keyed = candidates.map((candidate) => {
    const name = candidate.kind === "add" ? candidate.missing.name : candidate.slot.app.metadata.name;
    const isDisrupted = candidate.kind !== "add" && disrupted.has(candidate.slot);
    const ordinal = set.spec.replicas === undefined ? 0 : ordinalOf(set.metadata.name, name) ?? 0;
    return { candidate, name, ordinal, rank: isDisrupted ? 0 : 1 };
  });
  keyed.sort((a, b) => a.rank - b.rank || b.ordinal - a.ordinal || (a.name < b.name ? -1 : 1));
  return keyed.map(({ candidate }) => candidate);
}
