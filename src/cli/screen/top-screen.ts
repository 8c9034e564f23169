/** What `top` shows. Pure. */
import { keyOf } from "../../api/names.ts";
import type { NodeApp } from "../agent-api/agent-api.ts";
import { appTable, type AppTableOptions, cutLine } from "./app-table.ts";

export interface TopOptions extends Omit<AppTableOptions, "layout"> {
  /** Shown instead of an empty table. */
  none: string;
}

/** Returns the lines of the screen: the heading, the totals, and the apps with the highest usage first. */
export function topLines(heading: string[], apps: NodeApp[], { none, ...options }: TopOptions): string[] {
  const { width = 0, paint = (_, text) => text } = options;
  const head = [...heading, totals(apps, options.scope)].map((line) => cutLine(line, width));
  const [header = "", ...rows] = appTable(apps.toSorted(byUsage), { ...options, layout: "top" });
  return [...head, "", ...(apps.length === 0 ? [none] : [paint("bold", header), ...rows])];
}

/** Counts the apps and sums up their usage. */
export function totals(apps: NodeApp[], scope: AppTableOptions["scope"] = "node"): string {
  const running = apps.filter(({ status }) => status?.phase === "Running").length;
  const counts = `${apps.length} ${apps.length === 1 ? "app" : "apps"}, ${running} running`;
  // Percentages of different nodes have no sum.
  if (scope === "cluster") return counts;
  const sum = (field: "cpuPCT" | "memPCT") =>
    apps.reduce((total, { status }) => total + Number(status?.[field] ?? 0), 0).toFixed(1);
  return `${counts}; total ${sum("cpuPCT")}% CPU, ${sum("memPCT")}% memory`;
}

/** Orders apps by CPU usage, then memory, highest first, then by name. */
export function byUsage(a: NodeApp, b: NodeApp): number {
  const cpu = ({ status }: NodeApp) => Number(status?.cpuPCT ?? -1);
  const memory = ({ status }: NodeApp) => status?.memoryBytes ?? -1;
  return cpu(b) - cpu(a) || memory(b) - memory(a) || (keyOf(a) < keyOf(b) ? -1 : 1);
}
