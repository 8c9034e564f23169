/**
 * The columns of top that fit a terminal: the more important ones first, others where there is space. Pure.
 */
import { type Cells, fitText, type Scope, textWidth } from "../screen/screen.ts";

type Title = keyof Cells;

interface Column {
  title: Title;
  /** The lowest rank is left out last. */
  rank: number;
  align?: "right";
  /** Wide enough for usual values, so that columns do not come and go with every measurement. */
  least?: number;
  /** May be cut to `least`; takes what is left. */
  grows?: boolean;
  scope?: Scope;
}

/** From left to right. */
const columns: Column[] = [
  { title: "APP", rank: 0, least: 16, grows: true },
  { title: "NODE", rank: 4, least: 8, scope: "cluster" },
  { title: "PHASE", rank: 1, least: 9 },
  { title: "CPU", rank: 2, align: "right", least: 9 },
  { title: "THROTTLED", rank: 9, align: "right" },
  { title: "MEM", rank: 3, align: "right", least: 9 },
  { title: "MiB", rank: 7, align: "right", least: 7 },
  { title: "PROCS", rank: 8, align: "right" },
  { title: "OOM", rank: 10, align: "right" },
  { title: "RESTARTS", rank: 5, align: "right" },
  { title: "AGE", rank: 6, align: "right", least: 6 },
  { title: "PID", rank: 11, align: "right", least: 7, scope: "node" },
  { title: "SOURCE", rank: 13, least: 10, scope: "node" },
  { title: "MESSAGE", rank: 12, least: 24, grows: true },
  { title: "SCRIPT", rank: 14, least: 24, grows: true },
];

const gap = 2;

export interface FittedColumn {
  title: Title;
  width: number;
  align?: "right";
}

/** Returns the columns for these rows, which take at most `width` together. `mark` is added to one title. */
export function fitColumns(rows: Cells[], width: number, scope: Scope, mark: Partial<Cells>): FittedColumn[] {
  const natural = ({ title, least = 0 }: Column) =>
    Math.max(least, textWidth(title + (mark[title] ?? "")), ...rows.map((cells) => textWidth(cells[title])));
  const wanted = new Map(columns.map((column) => [column, natural(column)]));
  const widths = new Map<Column, number>();
  let space = width + gap;
  for (const column of columns.toSorted((a, b) => a.rank - b.rank)) {
    const least = column.grows ? Math.min(column.least!, wanted.get(column)!) : wanted.get(column)!;
    if ((column.scope ?? scope) !== scope || (space < least + gap && column.rank > 0)) continue;
    widths.set(column, Math.min(least, Math.max(0, space - gap)));
    space -= least + gap;
  }
  for (const column of columns.filter(({ grows }) => grows)) {
    const has = widths.get(column);
    if (has === undefined || space <= 0) continue;
    const more = Math.min(space, wanted.get(column)! - has);
    widths.set(column, has + more);
    space -= more;
  }
  return columns.filter((column) => widths.has(column))
    .map((column) => ({ title: column.title, width: widths.get(column)!, align: column.align }));
}

/** Returns a row of the table; `show` may color a cell. */
export function formatRow(
  fitted: FittedColumn[],
  cells: Partial<Cells>,
  show: (title: Title, text: string) => string = (_, text) => text,
): string {
  return fitted.map(({ title, width, align }) => show(title, fitText(cells[title] ?? "", width, align)))
    .join(" ".repeat(gap));
}
