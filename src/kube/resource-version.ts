/**
 * The order of resourceVersions. They are growing numbers without leading zeros, so the longer one is larger; they may be too
 * long for a JavaScript number. A server may use other texts, whose order is unknown: then the version that arrived last
 * counts as the later one.
 */

/** Reports whether version `a`, which arrived after `b`, is later. A missing version is earlier than any other. */
export function isLater(a: string | undefined, b: string | undefined): boolean {
  if (!a || a === b) return false;
  if (!b || !isNumber(a) || !isNumber(b)) return true;
  return a.length === b.length ? a > b : a.length > b.length;
}

/** Reports whether version `a` is certainly earlier than `b`. */
export function isEarlier(a: string, b: string): boolean {
  return isLater(b, a) && !isLater(a, b);
}

function isNumber(version: string): boolean {
  return /^\d+$/.test(version);
}
