/**
 * Budgets of disruptions: what a PodDisruptionBudget allows, for the changes that controllers make to apps themselves. The API server checks
 * evictions of Pods on its own. Pure.
 */
import { type Labels, type LabelSelector, matchesSelector } from "../label-selector.ts";

export interface Budget {
  namespace: string;
  name: string;
  /** Absent: it selects nothing. */
  selector?: LabelSelector;
  /** Disruptions that its controller allows; 0 until it has seen the newest spec. */
  allowed: number;
  /** Pods that were ready when its controller counted them. */
  healthy: number;
  /** Pods that there should be; with 0 none stand for apps, and the budget says nothing about them. */
  expected: number;
}

/** The fields of a PodDisruptionBudget that count. */
interface BudgetObject {
  metadata?: { namespace?: string; name?: string; generation?: number };
  spec?: { selector?: LabelSelector };
  status?: {
    observedGeneration?: number;
    disruptionsAllowed?: number;
    currentHealthy?: number;
    expectedPods?: number;
  };
}

export function readBudget({ metadata = {}, spec, status = {} }: BudgetObject): Budget {
  const { namespace = "", name = "", generation = 0 } = metadata;
  const { observedGeneration = 0, disruptionsAllowed = 0, currentHealthy = 0, expectedPods = 0 } = status;
  return {
    namespace,
    name,
    ...(spec?.selector ? { selector: spec.selector } : {}),
    allowed: observedGeneration >= generation ? disruptionsAllowed : 0,
    healthy: currentHealthy,
    expected: expectedPods,
  };
}

export function covers({ selector, expected }: Budget, labels: Labels | undefined): boolean {
  return selector !== undefined && expected > 0 && matchesSelector(selector, labels);
}

/** How long the controller of budgets may take to notice that a Pod is not ready. */
export const noticeMs = 10_000;

/**
 * Returns how many apps that are ready may become unready now. `apps` are those that the budget covers, as they are now: the budget counts
 * Pods, and lags behind. `changed`: a controller changed the app within `noticeMs`.
 * Caveat: if other Pods are covered, too, an app that stays unready counts as one that the budget has not noticed.
 */
export function disruptionsLeft(
  { allowed, healthy }: Budget,
  apps: readonly { ready: boolean; changed: boolean }[],
): number {
  const unready = apps.filter(({ ready }) => !ready);
  const missed = Math.min(healthy, apps.length) - (apps.length - unready.length);
  // The Pods that the budget knows to be unready may be others: an app that is being evicted is ready until it stops.
  const unnoticed = Math.max(0, missed, unready.filter(({ changed }) => changed).length);
  return Math.max(0, allowed - unnoticed);
}

/** Returns how many apps of a set may be unavailable because of updates and drains. */
export function maxUnavailableOf(maxUnavailable: number | string = 1, apps: number): number {
  const wanted = typeof maxUnavailable === "number"
    ? maxUnavailable
    : Math.floor(apps * Number.parseInt(maxUnavailable) / 100);
  return Math.max(1, wanted);
}
