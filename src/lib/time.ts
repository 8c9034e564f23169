/**
 * Milliseconds of a clock that is never set: for waits and deadlines. It starts at the wall clock's time; the two drift apart when
 * the machine's clock is corrected. Times that users read come from `Date.now()`.
 * Caveat: it stands still while the machine is suspended.
 */
export function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}

/** Formats a time as RFC 3339 with whole seconds, as Kubernetes does. */
export function isoSeconds(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, "Z");
}
