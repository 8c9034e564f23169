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

/** Parses a time of RFC 3339 such as `2026-11-17T07:04:14Z`; undefined if it is none. */
export function parseTime(text: string): Date | undefined {
  const [, year, month, day] =
    /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  const time = new Date(text);
  // The 30th of February would become a day in March.
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return Number(day) <= lastDay && !Number.isNaN(time.getTime()) ? time : undefined;
}

const hourMs = 3_600_000;

/** Returns a message with the times of the next hour, written as `at 2026-11-17T07:04:14Z`, counted down to: `in 20 s`, `in 5 min`. */
export function countDown(message: string, now: number): string {
  return message.replaceAll(/\bat (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)/g, (text, time) => {
    const leftMs = Date.parse(time) - now;
    if (!(leftMs > 0 && leftMs < hourMs)) return text;
    const seconds = Math.ceil(leftMs / 1000);
    return `in ${seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`}`;
  });
}
