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

export { ageOf, appTable } from "./app-table.ts";
export { describeApp } from "./describe-app.ts";
export { type Color, paintFor, printableLine } from "./paint.ts";
export { formatAge, formatTable } from "./table.ts";
export { byUsage, topLines } from "./top-screen.ts";
export { watchScreen } from "./watch-screen.ts";

const formats = ["table", "wide", "json", "yaml", "name"] as const;
export type OutputFormat = typeof formats[number];

export const outputFlag: Flag = {
  kind: "text",
  short: "o",
  value: "FORMAT",
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
  const lines = appTable(apps, { now: Date.now(), wide: format === "wide", scope, paint: paintFor(io) });
  return `${lines.join("\n")}\n`;
}
