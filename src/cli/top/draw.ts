/**
 * The screen of top as lines. Pure.
 *
 * Guarantees: at most `rows` lines, and none is wider than `columns`, whatever apps are called and write.
 */
import type { NCAppStatus } from "../../api/types.ts";
import { keyOf } from "../../api/names.ts";
import {
  cellsOf,
  cutText,
  fitText,
  type Paint,
  printableLine,
  stateColor,
  totals,
  wrapText,
} from "../screen/screen.ts";
import { fitColumns, formatRow } from "./columns.ts";
import { layoutOf, messageOf, paneSize } from "./layout.ts";
import { type LogPane, shownRows } from "./log-pane.ts";
import { orderNames, orders } from "./shown-apps.ts";
import { listOf, type TopState } from "./state.ts";

export function draw(state: TopState, paint: Paint = (_, text) => text): string[] {
  const { mode } = state;
  switch (mode.kind) {
    case "help":
      return helpLines.slice(0, state.rows).map((line) => cutText(line, state.columns));
    case "log":
      return drawLog(state, mode.app, mode.pane, paint);
    default:
      return drawList(state, paint);
  }
}

const sortKeys = orderNames.map((name) => `${orders[name].key} ${name}`).join(", ");

const helpLines = [
  "Keys of top",
  "",
  "↑ ↓ PgUp PgDn Home End   choose an app",
  "Enter                    its log; Esc comes back",
  "r                        restart it, after you confirm",
  "/                        find by name, phase, reason or node",
  "Esc                      show all again",
  `${orderNames.map((name) => orders[name].key).join(" ").padEnd(24)} sort by: ${sortKeys}`,
  "R                        reverse the order",
  "w                        in a log: wrap long lines, or cut them",
  "Ctrl-Z                   back to the shell; fg comes back",
  "q Ctrl-C                 quit",
  "",
  "CPU and MEM are percent of the node: used, or used/cap. Any key goes back.",
];

function drawList(state: TopState, paint: Paint): string[] {
  const { columns } = state;
  const layout = layoutOf(state);
  const head = headOf(state).slice(0, layout.head).map((line) => cutText(line, columns));
  const lines = [...head, ...(layout.blank ? [""] : []), ...tableLines(state, layout, paint)];
  if (!layout.footer) return lines;
  const space = new Array(Math.max(0, state.rows - 1 - lines.length)).fill("");
  return [...lines, ...space, footerOf(state, paint)];
}

/** The totals come first: they are what a small terminal keeps. */
function headOf({ heading, apps, filter, scope, order }: TopState): string[] {
  const found = filter === "" ? "" : `; only those with "${filter}"`;
  return [
    `${totals(apps, scope)}; by ${order.by}${order.reverse ? ", reversed" : ""}${found}`,
    ...heading.map(printableLine),
  ];
}

function tableLines(state: TopState, layout: ReturnType<typeof layoutOf>, paint: Paint): string[] {
  const { columns, scope, now, order, first } = state;
  const { apps, index } = listOf(state);
  if (apps.length === 0) {
    const why = state.apps.length === 0
      ? state.none
      : `No app matches "${state.filter}". Esc shows all ${state.apps.length}.`;
    return wrapText(why, Math.max(1, columns)).slice(0, layout.list + Number(layout.titles));
  }
  const cells = apps.map((app) => cellsOf(app, now));
  const { title } = orders[order.by];
  const mark = { [title]: order.reverse ? "▲" : "▼" };
  // The mark of the selected row takes two columns.
  const fitted = fitColumns(cells, columns - 2, scope, mark);
  const titles = Object.fromEntries(fitted.map(({ title }) => [title, title + (mark[title] ?? "")]));
  const header = cutText(`  ${formatRow(fitted, titles)}`, columns);
  const rows = cells.slice(first, first + layout.list).map((row, offset) => {
    const { status = {} } = apps[first + offset]!;
    if (first + offset === index) return paint("inverse", fitText(`> ${formatRow(fitted, row)}`, columns));
    // Painted cells cannot be cut: the cut is done here, for terminals narrower than one column.
    if (columns < 4) return cutText(`  ${row.APP}`, columns);
    return `  ${formatRow(fitted, row, (title, text) => paintCell(title, text, status, paint))}`;
  });
  return [...(layout.titles ? [paint("bold", header)] : []), ...rows];
}

function paintCell(title: string, text: string, status: NCAppStatus, paint: Paint): string {
  if (title === "PHASE") return paint(stateColor(status), text);
  if (title === "MESSAGE") return paint("dim", text);
  if (title !== "CPU" && title !== "MEM") return text;
  const [used = 0, cap] = text.replace("%", "").split("/").map(Number);
  if (cap === undefined || used < 0.8 * cap) return text;
  return paint(used < 0.95 * cap ? "yellow" : "red", text);
}

function footerOf(state: TopState, paint: Paint): string {
  const { mode, columns, filter } = state;
  const cut = (text: string) => cutText(text, columns);
  if (mode.kind === "filter") return cut(`/${filter}█  Enter keeps it, Esc drops it`);
  if (mode.kind === "confirm") {
    return paint("bold", cut(`Restart ${mode.app}? y restarts it, any other key does not`));
  }
  const message = messageOf(state);
  if (message !== undefined) {
    return paint(state.notice === undefined ? "red" : "bold", cut(printableLine(message)));
  }
  const keys = orderNames.map((name) => orders[name].key).join("");
  return paint("dim", cut(`q quit  ? help  Enter log  r restart  / find  ${keys} sort  R reverse`));
}

function drawLog(state: TopState, app: string, pane: LogPane, paint: Paint): string[] {
  const { columns, rows } = state;
  const size = paneSize(state);
  const shown = shownRows(pane, size);
  const phase = state.apps.find((found) => keyOf(found) === app)?.status?.phase ?? "gone";
  const body = shown.length > 0 ? shown : [cutText(pane.ended ?? "(nothing yet)", columns)];
  const space = new Array(Math.max(0, size.height - body.length)).fill("");
  const follow = pane.ended !== undefined
    ? printableLine(pane.ended)
    : pane.below > 0
    ? `${pane.below} rows below; End follows`
    : "following";
  return [
    ...(rows >= 3 ? [paint("bold", cutText(`Log of ${app} (${phase}), ${follow}`, columns))] : []),
    ...body,
    ...space,
    ...(rows >= 4
      ? [
        paint(
          "dim",
          cutText(`Esc back  ↑ ↓ PgUp PgDn Home End  w ${pane.wrap ? "cut" : "wrap"} lines`, columns),
        ),
      ]
      : []),
  ];
}
