/**
 * Computes when a cron expression is due next, in any time zone. Pure: the clock is an argument. node-cron parses expressions, but
 * computes next times only from the current time.
 *
 * Days match as in cron and in CronJobs: if neither day of month nor day of week is `*`, either is enough, so `1-31` with a day
 * of the week means every day. A time that the clock jumps over in spring is skipped. A time that it shows twice in autumn counts
 * once, except for expressions that run every hour, which run in both.
 */
import { parse } from "node-cron";

interface Fields {
  second: number[];
  minute: number[];
  hour: number[];
  month: Set<number>;
  day: (dayOfMonth: number, dayOfWeek: number) => boolean;
}

const dayMs = 86_400_000;
/** 29 February may be eight years away: 1896 to 1904, or 2096 to 2104. */
const farthestDays = 366 * 9;
/** More than a node has apps; old expressions must not stay forever. */
const mostParsed = 2000;
const parsed = new Map<string, Fields>();
const mostClocks = 200;
const clocks = new Map<string, Clock>();
/** A name counts in any case, so that one zone has thousands of them. */
const mostFormats = 100;
const formats = new Map<string, Intl.DateTimeFormat>();

/** The first time after `after` (milliseconds), or undefined if there is none in nine years. */
export function nextRun(expression: string, timeZone: string | undefined, after: number): number | undefined {
  const fields = fieldsOf(expression);
  const zone = timeZone || Intl.DateTimeFormat().resolvedOptions().timeZone;
  const localDay = Math.floor((after + offsetAt(zone, after)) / dayMs) * dayMs;
  for (let day = 0; day < farthestDays; day++) {
    const midnight = localDay + day * dayMs;
    const date = new Date(midnight);
    if (!fields.month.has(date.getUTCMonth() + 1) || !fields.day(date.getUTCDate(), date.getUTCDay())) {
      continue;
    }
    const found = firstAfter(fields, midnight, clockAround(zone, midnight), after);
    if (found !== undefined) return found;
  }
  return undefined;
}

function firstAfter(fields: Fields, midnight: number, clock: Clock, after: number): number | undefined {
  const [least, most] = [Math.min(clock.before, clock.since), Math.max(clock.before, clock.since)];
  const everyHour = fields.hour.length === 24;
  let first: number | undefined;
  for (const time of timesOfDay(fields, after + least - midnight)) {
    // Times of a day are in order, except for the hour that repeats in autumn.
    if (first !== undefined && midnight + time - most >= first) break;
    const instants = instantsOf(clock, midnight + time);
    for (const instant of everyHour ? instants : instants.slice(0, 1)) {
      if (instant > after && (first === undefined || instant < first)) first = instant;
    }
  }
  return first;
}

/** The times of a day after `from`. Skips whole hours and minutes: a schedule of every second has 86,400 times. */
function* timesOfDay({ hour, minute, second }: Fields, from: number): Generator<number> {
  for (const h of hour) {
    if ((h + 1) * 3_600_000 <= from) continue;
    for (const m of minute) {
      if ((h * 60 + m + 1) * 60_000 <= from) continue;
      for (const s of second) {
        const time = ((h * 60 + m) * 60 + s) * 1000;
        if (time > from) yield time;
      }
    }
  }
}

/** The UTC offset of a zone around one day: `before`, and from `change` on `since`. */
interface Clock {
  before: number;
  change: number;
  since: number;
}

/** The clock around a day. Kept for the next call: asking Intl costs more than everything else here. */
function clockAround(zone: string, midnight: number): Clock {
  const key = `${zone} ${midnight}`;
  const clock = clocks.get(key) ?? findClock(zone, midnight);
  if (clocks.size >= mostClocks) clocks.clear();
  clocks.set(key, clock);
  return clock;
}

/** Zones change their clocks at most once in three days; the moment is found by bisection. */
function findClock(zone: string, midnight: number): Clock {
  let [low, high] = [midnight - dayMs, midnight + 2 * dayMs];
  const [before, since] = [offsetAt(zone, low), offsetAt(zone, high)];
  if (before === since) return { before, change: Infinity, since };
  while (high - low > 1000) {
    const middle = Math.floor((low + high) / 2000) * 1000;
    if (offsetAt(zone, middle) === before) low = middle;
    else high = middle;
  }
  return { before, change: high, since };
}

/** The instants at which the clocks show this local time: one, none in a gap, two in a repeated hour. */
function instantsOf({ before, change, since }: Clock, local: number): number[] {
  const [early, late] = [local - before, local - since];
  return [...(early < change ? [early] : []), ...(late >= change ? [late] : [])];
}

/** The offset of the zone from UTC at an instant, in milliseconds. */
function offsetAt(zone: string, instant: number): number {
  const format = formats.get(zone) ?? new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  if (formats.size >= mostFormats) formats.clear();
  formats.set(zone, format);
  const part = Object.fromEntries(
    format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]),
  );
  const local = Date.UTC(part.year!, part.month! - 1, part.day, part.hour, part.minute, part.second);
  return local - Math.floor(instant / 1000) * 1000;
}

function fieldsOf(expression: string): Fields {
  const known = parsed.get(expression);
  if (known) return known;
  const { second, minute, hour, dayOfMonth, month, dayOfWeek } = parse(expression);
  const [monthDays, weekDays] = [
    new Set(dayOfMonth.map(Number)),
    new Set(dayOfWeek.map((day) => Number(day) % 7)),
  ];
  const either = isRestricted(expression, -3) && isRestricted(expression, -1);
  const fields: Fields = {
    second: sorted(second),
    minute: sorted(minute),
    hour: sorted(hour),
    month: new Set(month),
    day: (inMonth, inWeek) =>
      either
        ? monthDays.has(inMonth) || weekDays.has(inWeek)
        : monthDays.has(inMonth) && weekDays.has(inWeek),
  };
  if (parsed.size >= mostParsed) parsed.clear();
  parsed.set(expression, fields);
  return fields;
}

/** Reports whether a field, counted from the end, is other than `*`. Names such as `@monthly` leave the day of the week open. */
function isRestricted(expression: string, field: number): boolean {
  const text = expression.trim().split(/\s+/).at(field) ?? "*";
  return !text.startsWith("@") && !text.split(",").some((item) => /^[*?](\/1)?$/.test(item));
}

function sorted(values: number[]): number[] {
  return values.toSorted((a, b) => a - b);
}
