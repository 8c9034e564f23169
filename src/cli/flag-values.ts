/** The variables and the parsers for the values of flags. A value that does not parse is a UsageError with the flag and the value. */
import { showURL } from "../api/shown-spec.ts";
import { closest } from "../lib/closest.ts";
import { parseAddress } from "../lib/special-addresses.ts";
import { UsageError } from "./command.ts";

/** Returns the environment variable that sets a flag. */
export function variableName(flag: string): string {
  return `NCKUBELET_${flag.toUpperCase().replaceAll("-", "_")}`;
}

/**
 * Returns a warning for each variable that looks like a misspelled setting and so has no effect. Other unknown variables are not ours
 * to judge: install.sh has some, and Kubernetes sets `NCKUBELET_PORT` for a Service of that name.
 */
export function misspelledVariables(
  env: Record<string, string | undefined>,
  flags: readonly string[],
): string[] {
  const known = flags.map(variableName);
  return Object.keys(env).filter((name) => name.startsWith("NCKUBELET_") && !known.includes(name))
    .flatMap((name) => {
      const near = closest(name.slice("NCKUBELET_".length), flags.map((flag) => flag.replaceAll("-", "_")));
      return near ? [`${name} is no setting and has no effect; did you mean ${variableName(near)}?`] : [];
    });
}

/** Parses a time such as `10s`, `500ms` or `5m` into milliseconds. */
export function parseDuration(flag: string, text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
  const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[match?.[2] ?? ""];
  const ms = Number(match?.[1]) * (unit ?? NaN);
  // A timer with a longer delay fires at once.
  if (ms > 0 && ms < 2 ** 31) return ms;
  throw new UsageError(`--${flag} ${JSON.stringify(text)}: use a time such as 10s or 500ms, up to 24 days`);
}

/** Parses how long ago something was, such as `5m`, `1h30m` or `2d`, into seconds. */
export function parseAge(flag: string, text: string): number {
  const [all, ...parts] = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? [];
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = parts.map((part) => Number(part ?? 0));
  const age = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
  if (all && age >= 1 && age < 2 ** 31) return age;
  throw new UsageError(`--${flag} ${JSON.stringify(text)}: use a time such as 30s, 5m, 1h30m or 2d`);
}

export function parseWholeNumber(
  flag: string,
  text: string,
  { min = 0, max = 999_999_999 }: { min?: number; max?: number } = {},
): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`--${flag} ${JSON.stringify(text)}: use a whole number from ${min} to ${max}`);
}

/** Parses a percentage from 0 to 100, without a percent sign. */
export function parsePercentage(flag: string, text: string): number {
  if (/^\d{1,3}(\.\d+)?$/.test(text) && Number(text) <= 100) return Number(text);
  throw new UsageError(`--${flag} ${JSON.stringify(text)}: use a number from 0 to 100`);
}

/** Accepts 1 and 0 as well, as variables are often set. */
export function parseBoolean(flag: string, text: string): boolean {
  return text === "1" || text !== "0" && parseChoice(flag, text, ["true", "false"]) === "true";
}

export function parseChoice<T extends string>(flag: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((item) => item === text);
  if (found !== undefined) return found;
  const others = allowed.slice(0, -1).join(", ");
  throw new UsageError(`--${flag} ${JSON.stringify(text)}: use ${others} or ${allowed.at(-1)}`);
}

export function parseHttpURL(flag: string, text: string): URL {
  const url = URL.parse(text);
  if (url && ["http:", "https:"].includes(url.protocol)) return url;
  throw new UsageError(`--${flag} ${JSON.stringify(showURL(text))}: use an http:// or https:// URL`);
}

/** Checks comma-separated addresses such as `127.0.0.1:10268`; with `anyHost` also `:10268`. */
export function parseListen(flag: string, text: string, { anyHost = false } = {}): string {
  for (const address of text.split(",").map((word) => word.trim()).filter(Boolean)) {
    try {
      parseAddress(anyHost && address.startsWith(":") ? `[::]${address}` : address);
    } catch {
      throw new UsageError(`--${flag} ${JSON.stringify(address)}: use an address such as 127.0.0.1:10268`);
    }
  }
  return text;
}
