/** The log of an app as a part of the screen: its last lines, where the reader is, and whether long lines wrap. Pure. */
import { cutText, printableLine, wrapText } from "../screen/screen.ts";

export interface LogPane {
  lines: string[];
  /** The line that has no end yet, as it came. */
  partial: string;
  /** How many rows are below the screen; 0 follows the log. */
  below: number;
  wrap: boolean;
  /** Why no more comes; undefined while it is read. */
  ended?: string;
}

/** The part of the screen for the log. */
export interface PaneSize {
  width: number;
  height: number;
}

export const emptyLog: LogPane = { lines: [], partial: "", below: 0, wrap: true };

const mostLines = 2000;
const longestLine = 4000;

/** Adds text to the log. A reader who has scrolled up keeps the same rows before their eyes. */
export function addText(pane: LogPane, text: string, size: PaneSize): LogPane {
  const [first = "", ...more] = text.split("\n");
  const pieces = [pane.partial + first, ...more];
  // Terminals overwrite it; the rest of an endless line is not kept.
  const partial = pieces.pop()!.slice(-longestLine);
  const lines = [...pane.lines, ...pieces.slice(-mostLines).map(clean)].slice(-mostLines);
  const next = { ...pane, lines, partial };
  const added = pieces.map(clean).reduce((sum, line) => sum + rowsOf(line, pane, size).length, 0);
  return pane.below === 0 ? next : scroll(next, added, size);
}

/** Moves towards older rows, or with a negative count towards newer ones. */
export function scroll(pane: LogPane, rows: number, size: PaneSize): LogPane {
  const most = Math.max(0, allRows(pane, size).length - size.height);
  return { ...pane, below: Math.min(most, Math.max(0, pane.below + rows)) };
}

/** Returns the rows on the screen, at most `height`. */
export function shownRows(pane: LogPane, size: PaneSize): string[] {
  const rows = allRows(pane, size);
  const below = Math.min(pane.below, Math.max(0, rows.length - size.height));
  const end = rows.length - below;
  return rows.slice(Math.max(0, end - size.height), end);
}

function allRows(pane: LogPane, size: PaneSize): string[] {
  const lines = pane.partial === "" ? pane.lines : [...pane.lines, clean(pane.partial)];
  return lines.flatMap((line) => rowsOf(line, pane, size));
}

function rowsOf(line: string, { wrap }: LogPane, { width }: PaneSize): string[] {
  return wrap ? wrapText(line, width) : [cutText(line, width)];
}

/** Returns a line as a terminal would show it at the end: without colors, and with what was written last over the rest. */
function clean(line: string): string {
  const shown = line.replace(/\r+$/, "").split("\r").at(-1) ?? "";
  const plain = shown.replaceAll(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, "").replaceAll("\t", "    ");
  return printableLine(plain.slice(0, longestLine));
}
