/**
 * True where `one` is later than `other`. Versions are numbers of etcd that grow, without leading zeros, so the longer one is the
 * larger. Where one is no number nothing is known, and what came last counts as later.
 */
export function isLater(one: string, other: string): boolean {
  if (!/^\d+$/.test(one) || !/^\d+$/.test(other)) return true;
  return one.length === other.length ? one > other : one.length > other.length;
}

/** True where `one` is certainly earlier than `other`. */
export function isEarlier(one: string, other: string): boolean {
  return isLater(other, one) && !isLater(one, other);
}
