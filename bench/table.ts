/** The table of figures, as Markdown that is easy to read in a terminal too. Pure. */
import { type Figure, isReached, ratioOf, type Reference } from "./benchmark.ts";
import { formatNumber, formatValue } from "./format.ts";

export const columns = ["figure", "ours", "peer", "ratio", "limit"];

/** Renders the rows with their header; cells are padded to the width of their column. */
export function renderTable(figures: Figure[]): string {
  const rows = [columns, ...figures.map(cellsOf)];
  const widths = columns.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  const line = (cells: string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |`.replaceAll(/ +$/g, "");
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}

/** Renders the notes of the rows, one line each. */
export function renderNotes(figures: Figure[]): string {
  const notes = figures.filter(({ note }) => note).map(({ figure, note }) => `- ${figure}: ${note}`);
  return [...new Set(notes)].join("\n");
}

/** The cells of a figure, in the order of `columns`. */
export function cellsOf(figure: Figure): string[] {
  const { ours, unit, peer, limit } = figure;
  const ratio = ratioOf(figure);
  return [
    escapeCell(`${figure.figure}${describeAsked(figure)}`),
    ours === undefined
      ? "not measured"
      : `${formatValue(ours, unit)}${isReached(figure) === false ? " ✗" : ""}`,
    describe(peer, unit),
    ratio === undefined ? "" : `${formatNumber(ratio)} ×`,
    describe(limit, unit),
  ];
}

function describeAsked({ asked, better = "lower", unit }: Figure): string {
  if (asked === undefined) return "";
  return ` (asked: ${better === "lower" ? "under" : "over"} ${formatValue(asked, unit)})`;
}

function describe(reference: Reference | undefined, unit: string): string {
  return reference ? escapeCell(`${formatValue(reference.value, unit)} (${reference.what})`) : "";
}

function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|");
}
