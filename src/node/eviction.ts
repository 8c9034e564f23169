/** Which app goes when the node runs out of memory. Pure. */

/** A running app, as far as an eviction looks at it. */
export interface EvictionCandidate {
  key: string;
  /** Of its PriorityClass; 0 without one. */
  priority: number;
  memoryBytes: number;
  /** Its cap; undefined: none. */
  memoryLimitBytes?: number;
  /** How long it has been ending, if it is. */
  stoppingMs?: number;
}

export interface Eviction {
  key: string;
  /** Why this one, for the event. */
  message: string;
}

/** From here on an app is part of the system, as for Pods: `system-cluster-critical` has 2,000,000,000. */
export const criticalPriority = 2_000_000_000;

/** The memory of an app that is ending comes back soon; one that takes longer is not waited for. */
const patienceMs = 60_000;

/**
 * The app to evict, or undefined: one at a time, so none while another is about to end. The lowest priority goes
 * first, then the one that fills its cap the most (an app without a cap counts as over it), then the largest. Critical apps stay.
 */
export function chooseEviction(apps: EvictionCandidate[], why: string): Eviction | undefined {
  if (apps.some(({ stoppingMs = Infinity }) => stoppingMs < patienceMs)) return undefined;
  const [worst] = apps.filter(isCandidate).sort(order);
  return worst && { key: worst.key, message: `${why}; ${describe(worst)}` };
}

function isCandidate({ priority, memoryBytes, stoppingMs }: EvictionCandidate): boolean {
  return priority < criticalPriority && memoryBytes > 0 && stoppingMs === undefined;
}

function order(one: EvictionCandidate, other: EvictionCandidate): number {
  return one.priority - other.priority ||
    compare(fill(other), fill(one)) ||
    other.memoryBytes - one.memoryBytes ||
    (one.key < other.key ? -1 : 1);
}

/** Infinity minus Infinity is no order. */
function compare(one: number, other: number): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

function fill({ memoryBytes, memoryLimitBytes }: EvictionCandidate): number {
  return memoryLimitBytes ? memoryBytes / memoryLimitBytes : Infinity;
}

function describe({ priority, memoryBytes, memoryLimitBytes }: EvictionCandidate): string {
  const mib = (bytes: number) => `${Math.round(bytes / (1 << 20))} MiB`;
  const cap = memoryLimitBytes ? `of the ${mib(memoryLimitBytes)} that it may have` : "without a cap";
  return `the app uses ${mib(memoryBytes)} ${cap}, at priority ${priority}`;
}
