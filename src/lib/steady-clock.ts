/**
 * Milliseconds by a clock that is never set: for waits and deadlines. It begins at the wall clock's time, and the two part when the
 * machine's clock is corrected; what others read gets `Date.now()`.
 * Caveat: it stands still while the machine sleeps.
 */
export function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}
