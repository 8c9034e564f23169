/** Formats numbers for readers. Pure. */

/** Formats three significant digits: `0.0123`, `4.56`, `789`, `12,300`. */
export function formatNumber(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return roundTo(value, 3).toLocaleString("en");
  const digits = Math.min(4, Math.max(0, 2 - Math.floor(Math.log10(size))));
  return value.toFixed(digits);
}

/** Formats a number beside an axis, without trailing zeros. */
export function formatTick(value: number): string {
  return roundTo(value, 3).toLocaleString("en", { maximumFractionDigits: 6 });
}

/** Formats a number with its unit: `4.56 ms`, `12%`. */
export function formatValue(value: number, unit: string): string {
  return `${formatNumber(value)}${unit === "%" || unit === "" ? "" : " "}${unit}`;
}

function roundTo(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}
