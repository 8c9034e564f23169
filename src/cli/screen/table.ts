import { textWidth } from "./text-width.ts";

/** Colors a cell; must not change its visible text. */
export type PaintCell = (cell: string, column: number, row: number) => string;

/** Returns the lines of a table with aligned columns, as kubectl prints them. */
export function formatTable(rows: string[][], paint: PaintCell = (cell) => cell): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => textWidth(row[column] ?? "")))
  );
  return rows.map((row, index) =>
    row.map((cell, column) => paint(cell, column, index) + " ".repeat(gap(cell, column, row, widths)))
      .join("").trimEnd()
  );
}

function gap(cell: string, column: number, row: string[], widths: number[]): number {
  return column === row.length - 1 ? 0 : (widths[column] ?? 0) - textWidth(cell) + 3;
}

/** Returns a time span in the short form of kubectl: 45s, 12m, 3h20m, 5d. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 ? `${minutes}m${seconds % 60}s` : `${minutes}m`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
