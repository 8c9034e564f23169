/**
 * Lays out the demo on a terminal. Pure. The lines at the top are wrapped, the table is cut to the width, and the news get the
 * remaining rows.
 */

export interface Screen {
  /** `Title  text` lines; they wrap below their text. */
  head: string[];
  table: string[];
  /** The newest last. */
  news: string[];
}

export interface Size {
  columns: number;
  rows: number;
}

/** Returns the lines to draw: one less than there are rows at most, so that nothing scrolls. */
export function layOut({ head, table, news }: Screen, { columns, rows }: Size): string[] {
  const lines = [
    ...head.flatMap((line) => wrap(line, columns)),
    "",
    ...table.map((line) => cut(line, columns)),
  ];
  const space = Math.max(0, rows - 1 - lines.length - 1);
  const shown = space > 0 ? news.slice(-space).map((line) => cut(line, columns)) : [];
  return [...lines, ...(shown.length > 0 ? ["", ...shown] : [])].slice(0, rows - 1);
}

const indent = " ".repeat(13);

/** Wraps a line at spaces; the terminal wraps words that are longer than the line. */
function wrap(line: string, columns: number): string[] {
  const lines: string[] = [];
  let rest = line;
  while (rest.length > columns) {
    const at = rest.lastIndexOf(" ", columns);
    if (at <= indent.length) break;
    lines.push(rest.slice(0, at));
    rest = indent + rest.slice(at + 1);
  }
  return [...lines, rest];
}

function cut(line: string, columns: number): string {
  return line.length > columns ? `${line.slice(0, columns - 1)}…` : line;
}
