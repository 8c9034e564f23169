/** Apps as tables. Every column is defined once; the layouts list the columns of each command. */
import { defaultNamespace, keyOf, ownerSet } from "../../api/names.ts";
import { showURL } from "../../api/shown-spec.ts";
import { countDown } from "../../lib/time.ts";
import type { NodeApp } from "../agent-api/agent-api.ts";
import { type Paint, printableLine, stateColor } from "./paint.ts";
import { formatAge, formatTable } from "./table.ts";
import { cutText, textWidth } from "./text-width.ts";

type Cell = (app: NodeApp, now: number) => string;

const columns = {
  APP: keyOf,
  NAMESPACE: ({ metadata }) => metadata.namespace ?? "",
  NAME: ({ metadata }) => metadata.name,
  SET: (app) => ownerSet(app)?.name ?? "-",
  NODE: ({ spec }) => spec.nodeName || "-",
  PHASE: ({ status }) => status?.phase ?? "",
  READY: ({ status }) => status?.ready ? "True" : "False",
  CPU: ({ spec, status }) => usage(status?.cpuPCT, spec.cpuPCT),
  THROTTLED: ({ status }) => status?.cpuThrottledPCT === undefined ? "-" : `${status.cpuThrottledPCT}%`,
  MEM: ({ spec, status }) => usage(status?.memPCT, spec.memPCT),
  MiB: ({ status }) => status?.memoryBytes === undefined ? "-" : (status.memoryBytes / 2 ** 20).toFixed(1),
  PROCS: ({ status }) => String(status?.processes ?? "-"),
  OOM: ({ status }) => String(status?.oomKills ?? 0),
  RESTARTS: ({ status }) => String(status?.restarts ?? 0),
  PID: ({ status }) => String(status?.pid ?? "-"),
  AGE: ({ status }, now) => ageOf(status?.startTime, now),
  SOURCE: ({ agent }) => agent?.source ?? "-",
  SCRIPT: ({ spec }) => showURL(spec.shellFile || "-"),
  MESSAGE: ({ status = {} }, now) =>
    countDown(status.message ?? "", now) || whileRunning(status) ||
    (status.phase === status.reason ? "" : status.reason ?? ""),
} satisfies Record<string, Cell>;

/** What keeps an app that runs from being ready, and its caps from being enforced. */
export function whileRunning({ phase, conditions = [] }: NonNullable<NodeApp["status"]>): string {
  if (phase !== "Running") return "";
  const messageOf = (type: string) =>
    conditions.find((condition) => condition.type === type && condition.status === "False")?.message;
  const caps = messageOf("LimitsEnforced");
  return [messageOf("Ready"), caps && `caps are not enforced: ${caps}`].filter(Boolean).join("; ");
}

type Title = keyof typeof columns;

export type Scope = "node" | "cluster";

/** Columns that make sense only for apps of one node, or of many. */
const scopeOf: Partial<Record<Title, Scope>> = {
  NODE: "cluster",
  SET: "cluster",
  PID: "node",
  SOURCE: "node",
};

/** The columns of each command, in order. Those in `wide` need `-o wide`. */
const layouts: Record<"ps" | "top", { first: Title[]; wide: Title[]; last: Title[] }> = {
  ps: {
    first: ["NAMESPACE", "NAME", "SET", "NODE", "PHASE", "READY", "CPU", "MEM", "RESTARTS", "PID", "AGE"],
    wide: ["THROTTLED", "OOM", "SOURCE", "SCRIPT"],
    last: ["MESSAGE"],
  },
  top: {
    first: ["APP", "NODE", "PHASE", "CPU", "THROTTLED", "MEM", "MiB", "PROCS", "OOM", "RESTARTS", "AGE"],
    wide: ["PID", "SOURCE", "SCRIPT"],
    last: [],
  },
};

export interface AppTableOptions {
  now: number;
  layout?: keyof typeof layouts;
  wide?: boolean;
  scope?: Scope;
  paint?: Paint;
  /** Longer lines are cut; 0 for any length. */
  width?: number;
}

export type Cells = Record<Title, string>;

/** Returns every column of an app as text that is safe to show. */
export function cellsOf(app: NodeApp, now: number): Cells {
  const cells = Object.entries(columns).map(([title, cell]) => [title, printableLine(cell(app, now))]);
  return Object.fromEntries(cells) as Cells;
}

/** Returns the lines of a table of apps, the header first. */
export function appTable(
  apps: NodeApp[],
  { now, layout = "ps", wide = false, scope = "node", paint = (_, text) => text, width = 0 }: AppTableOptions,
): string[] {
  const { first, wide: more, last } = layouts[layout];
  const wanted = [...first, ...(wide ? more : []), ...last]
    .filter((title) => (scopeOf[title] ?? scope) === scope)
    .filter((title) => title !== "SET" || apps.some(ownerSet));
  const cells = apps.map((app) => cellsOf(app, now));
  const titles = width > 0 && !wide ? withSpaceForMessages(wanted, cells, width) : wanted;
  const rows = cells.map((row) => titles.map((title) => row[title]));
  // Painted after cutting: colors have no width.
  const [header = "", ...lines] = formatTable([titles, ...rows]);
  const start = header.indexOf("PHASE");
  return [
    cutLine(header, width),
    ...lines.map((line) => cutLine(line, width)).map((line, index) => {
      const app = apps[index]!;
      const end = start + columns.PHASE(app).length;
      const phase = line.slice(start, end);
      return line.slice(0, start) + paint(stateColor(app.status ?? {}), phase) + line.slice(end);
    }),
  ];
}

/** Columns that a narrow screen leaves out, so that the messages, which come last, are legible. */
const lessNeeded: readonly Title[] = ["NAMESPACE", "PID", "AGE"];
const legible = 24;

function withSpaceForMessages(titles: Title[], cells: Cells[], width: number): Title[] {
  const longest = Math.min(legible, Math.max(0, ...cells.map(({ MESSAGE }) => textWidth(MESSAGE))));
  const widthOf = (title: Title) => Math.max(title.length, ...cells.map((row) => textWidth(row[title]))) + 3;
  const fits = (shown: Title[]) =>
    shown.filter((title) => title !== "MESSAGE").reduce((sum, title) => sum + widthOf(title), longest) <=
      width;
  return lessNeeded.reduce((shown, title) => {
    const tells = title === "NAMESPACE" &&
      cells.some((row) => !["", defaultNamespace].includes(row.NAMESPACE));
    return longest === 0 || fits(shown) || tells ? shown : shown.filter((other) => other !== title);
  }, titles);
}

/** Cuts a line to the width of a screen; 0 leaves it whole. */
export function cutLine(line: string, width: number): string {
  return width > 0 ? cutText(line, width) : line;
}

/** Usage and cap: `12.5/20%`. */
export function usage(used: string | undefined, cap: string | number | undefined): string {
  if (used === undefined) return "-";
  return cap === undefined || cap === "" ? `${used}%` : `${used}/${String(cap).replace("%", "")}%`;
}

/** How long ago, or `-`. */
export function ageOf(time: string | undefined, now: number): string {
  return time ? formatAge(now - Date.parse(time)) : "-";
}
