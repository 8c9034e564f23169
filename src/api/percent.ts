import { quote } from "./field-error.ts";
import { explainMismatch, percent } from "./schema/schema.ts";

const form = new RegExp(percent);

/**
 * The number of percent in a share: `"20"`, `"12.5"`, `"20%"`, `20` → 20, 12.5, 20, 20. No share at all (absent or
 * `""`) → undefined. Anything else, zero and what lies over 100 included, throws with the value.
 *
 * Shares are read by one pattern here and in the API server, so that both accept the same strings.
 */
export function parsePercent(value: string | number | undefined | null): number | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string" && form.test(value)) return inRange(Number(value.replace("%", "")), value);
  if (typeof value === "number") return inRange(value, value);
  throw notAPercentage(value);
}

/** Percent for people and for `status`: one decimal, no sign. */
export function formatPercent(percent: number): string {
  if (!Number.isFinite(percent)) throw new RangeError(`not a percentage: ${percent}`);
  // A tiny negative, as from a counter that was reset, would print "-0.0".
  return Math.max(0, percent).toFixed(1);
}

function inRange(percent: number, value: string | number): number {
  if (percent > 0 && percent <= 100) return percent;
  throw notAPercentage(value);
}

function notAPercentage(value: unknown): RangeError {
  return new RangeError(
    `Invalid value: ${quote(value)}: ${explainMismatch(percent, String(value))}`,
  );
}
