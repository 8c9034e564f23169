/** Parts of status patches that agents and schedulers share. */

/** A merge patch that removes the fields that describe a run, for an app that has no node. */
export const withoutRunFields = {
  pid: null,
  processes: null,
  startTime: null,
  cpuPCT: null,
  memPCT: null,
  memoryBytes: null,
  cpuThrottledPCT: null,
} as const;

interface Condition {
  type: string;
  status: string;
  lastTransitionTime?: string;
}

/** Adds the transition time: that of the same condition in `before` if its status is unchanged, else `now`. */
export function withTransitionTime<C extends Condition>(
  condition: C,
  before: readonly Condition[] | undefined,
  now: string | undefined,
): C & { lastTransitionTime?: string } {
  const known = before?.find(({ type }) => type === condition.type);
  const isSame = known?.status === condition.status;
  const lastTransitionTime = isSame ? known.lastTransitionTime ?? now : now;
  return lastTransitionTime === undefined ? condition : { ...condition, lastTransitionTime };
}
