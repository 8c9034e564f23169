/** How the rows of the terminal are divided. Small terminals lose the heading first, then the footer, then the titles. Pure. */
import type { PaneSize } from "./log-pane.ts";

/** What the layout depends on; the state of top has it. */
export interface Framed {
  columns: number;
  rows: number;
  heading: string[];
  mode: { kind: string };
  notice?: string;
  failure?: string;
}

export interface Layout {
  /** How many lines of the heading are shown. */
  head: number;
  /** Whether an empty line follows the heading. */
  blank: boolean;
  titles: boolean;
  footer: boolean;
  /** How many apps. */
  list: number;
}

const leastApps = 3;

export function layoutOf(state: Framed): Layout {
  const { rows } = state;
  // The totals are a line of the heading, too.
  const lines = state.heading.length + 1;
  const mustAnswer = state.mode.kind === "filter" || state.mode.kind === "confirm" ||
    Boolean(messageOf(state));
  const footer = rows >= 4 || mustAnswer;
  const titles = rows - Number(footer) >= 2;
  const space = Math.max(0, rows - Number(footer) - Number(titles));
  const head = Math.max(0, Math.min(lines, space - leastApps));
  const blank = space - head > 2 * leastApps;
  return { head, blank, titles, footer, list: Math.max(0, space - head - Number(blank)) };
}

export function listHeight(state: Framed): number {
  return layoutOf(state).list;
}

/** A line for the title of the log and one for the keys, if there is space. */
export function paneSize({ columns, rows }: Framed): PaneSize {
  return { width: columns, height: Math.max(1, rows - Number(rows >= 3) - Number(rows >= 4)) };
}

/** What the footer says in place of the keys. */
export function messageOf({ notice, failure }: Framed): string | undefined {
  return notice ?? failure;
}
