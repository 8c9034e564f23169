/** Formats figures. Pure. */

/** `12.3%`, or a dash for none. */
export function percent(value: number | string | null | undefined): string {
  return value === null || value === undefined ? "–" : `${Number(value).toFixed(1)}%`;
}

/** A cap without trailing zeros: `30%`, `12.5%`. */
export function cap(value: number): string {
  return `${Math.round(value * 100) / 100}%`;
}

/** `1.5 GiB`. */
export function bytes(count: number | undefined): string {
  if (count === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  return `${(count / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}

/** How long ago something was: `45 s`, `12 min`, `3 h`, `5 d`. */
export function ago(time: string | undefined, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(time ?? "")) / 1000));
  if (Number.isNaN(seconds)) return "–";
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** Returns the cap of a spec in percent; undefined for none. */
export function capOf(value: string | number | undefined): number | undefined {
  const cap = parseFloat(String(value ?? ""));
  return Number.isNaN(cap) ? undefined : cap;
}

/** Returns log text without the terminal escape sequences for colors. */
export function withoutColors(text: string): string {
  return text.replaceAll(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "");
}

/** A time in the reader's zone: `17 Nov 2026, 08:15:03`; without a time undefined. */
export function localTime(time: string | undefined, locale?: string, timeZone?: string): string | undefined {
  const at = Date.parse(time ?? "");
  if (Number.isNaN(at)) return time || undefined;
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium", timeZone }).format(at);
}

/** The time of day in the reader's zone, short enough for a chart: `08:15:03`. */
export function clock(at: number, locale?: string, timeZone?: string): string {
  return new Intl.DateTimeFormat(locale, { timeStyle: "medium", hourCycle: "h23", timeZone }).format(at);
}

/** Returns the lines that contain a text, in any case. */
export function linesWith(text: string, wanted: string): string[] {
  const lower = wanted.toLowerCase();
  return text.split("\n").filter((line) => line.toLowerCase().includes(lower));
}
