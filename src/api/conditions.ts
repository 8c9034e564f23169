/** A condition as Kubernetes has them, of an app or of a node. */
interface Condition {
  type: string;
  status: string;
  lastTransitionTime?: string;
}

/**
 * Returns the condition with the time of its last transition: while its status is that of the entry of its type in `before`,
 * the time of that entry, else `now`.
 */
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
