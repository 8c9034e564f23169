/** Chooses the app to evict when the node runs out of memory. Pure. */

export interface EvictionCandidate {
  key: string;
  /** From its PriorityClass; 0 without one. */
  priority: number;
  memoryBytes: number;
  /** Its cap; undefined without one. */
  memoryLimitBytes?: number;
  /** How long it has been stopping, if it is. */
  stoppingMs?: number;
}

export interface Eviction {
  key: string;
  /** Why this app was chosen, for the event. */
  message: string;
}

/** From this priority on an app is part of the system, as for Pods: `system-cluster-critical` has 2,000,000,000. */
export const criticalPriority = 2_000_000_000;

/** How long a stopping app holds up the next eviction: its memory is usually free soon. */
const patienceMs = 60_000;

/**
 * Returns the app to evict, or undefined: one at a time, so none while another is about to stop. The lowest priority goes first,
 * then the app that fills its cap the most (an app without a cap counts as over it), then the largest. Critical apps stay.
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

/** Subtraction would not do: Infinity minus Infinity is NaN. */
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
