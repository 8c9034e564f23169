/**
 * What commands print: lists of apps in the format of --output, tables, colors, the description of an app, and screens that refresh
 * in place.
 */
import { dump } from "js-yaml";
import { apiVersion, keyOf, listKind } from "../../api/names.ts";
import type { NodeApp } from "../agent-api/agent-api.ts";
import { type Flag, type Invocation, type Io, textFlag } from "../command.ts";
import { parseChoice } from "../flag-values.ts";
import { appTable, type Scope } from "./app-table.ts";
import { paintFor } from "./paint.ts";

export { ageOf, appTable, type Cells, cellsOf, cutLine, type Scope } from "./app-table.ts";
export { describeApp } from "./describe-app.ts";
export { describeEvents, eventTable, type ShownEvent } from "./event-lines.ts";
export { type Color, type Paint, paintFor, printable, printableLine, stateColor } from "./paint.ts";
export { whileRunning } from "./app-table.ts";
export { historyLines } from "./history-lines.ts";
export { runsOf, runTable } from "./run-table.ts";
export { formatAge, formatTable } from "./table.ts";
export { cutText, fitText, textWidth, wrapText } from "./text-width.ts";
export { byUsage, topLines, totals } from "./top-screen.ts";
export { versionTable } from "./version-table.ts";
export { watchApps } from "./watch-apps.ts";
export { watchScreen } from "./watch-screen.ts";

const formats = ["table", "wide", "json", "yaml", "name"] as const;
export type OutputFormat = typeof formats[number];

export const outputFlag: Flag = {
  short: "o",
  value: "FORMAT",
  choices: formats,
  help: "table, wide, json, yaml or name.",
  default: "table",
};

export function outputFormat(invocation: Invocation): OutputFormat {
  return parseChoice("output", textFlag(invocation, "output") ?? "table", formats);
}

/** Reports whether the format is for programs, and so is printed once rather than watched. */
export function isForPrograms(format: OutputFormat): boolean {
  return format !== "table" && format !== "wide";
}

/** Returns a list of apps as text; `none` replaces an empty table. */
export function formatApps(
  apps: NodeApp[],
  format: OutputFormat,
  io: Io,
  { scope, none }: { scope: Scope; none: string },
): string {
  const list = { apiVersion, kind: listKind, metadata: {}, items: apps };
  if (format === "json") return `${JSON.stringify(list, null, 2)}\n`;
  if (format === "yaml") return dump(list, { noRefs: true, lineWidth: -1 });
  if (format === "name") {
    return apps.map((app) => `${keyOf(app)}\n`).join("");
  }
  if (apps.length === 0) return `${none}\n`;
  const wide = format === "wide";
  // A message that does not fit is cut, unless the user asked for everything.
  const width = wide ? 0 : io.columns;
  const lines = appTable(apps, { now: Date.now(), wide, scope, paint: paintFor(io), width });
  return `${lines.join("\n")}\n`;
}
