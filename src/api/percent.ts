import { quote } from "./field-error.ts";
import { explainMismatch, percent } from "./schema/schema.ts";

const form = new RegExp(percent);

/**
 * Parses a share: `"20"`, `"12.5"`, `"20%"`, `20` → 20, 12.5, 20, 20. Absent or `""` → undefined. Anything else,
 * including zero and values over 100, throws an error with the value.
 *
 * The pattern is the one in the CRD, so the agent and the API server accept the same strings.
 */
export function parsePercent(value: string | number | undefined | null): number | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string" && form.test(value)) return inRange(Number(value.replace("%", "")), value);
  if (typeof value === "number") return inRange(value, value);
  throw notAPercentage(value);
}

/** Formats a percentage for messages and `status`: one decimal, no percent sign. */
export function formatPercent(percent: number): string {
  if (!Number.isFinite(percent)) throw new RangeError(`not a percentage: ${percent}`);
  // A counter reset can yield a tiny negative number, which would print "-0.0".
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
