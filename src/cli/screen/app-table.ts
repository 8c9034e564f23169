import { showURL } from "../../api/shown-spec.ts";
import type { NodeApp } from "../agent-api/agent-api.ts";
import { type Paint, phaseColour, printableLine } from "./paint.ts";
import { formatAge, formatTable } from "./table.ts";

export interface AppTableOptions {
  now: number;
  /** With source, throttling, OOM kills and script. */
  wide?: boolean;
  /** Apps of many nodes: with the node, without what only means something on it. */
  cluster?: boolean;
  paint?: Paint;
}

interface Column {
  title: string;
  wide?: boolean;
  /** Shown only in tables of the cluster, or only in those of one node. */
  only?: "cluster" | "node";
  cell(app: NodeApp, now: number): string;
}

const columns: Column[] = [
  { title: "NAMESPACE", cell: ({ metadata }) => metadata.namespace ?? "" },
  { title: "NAME", cell: ({ metadata }) => metadata.name },
  { title: "NODE", only: "cluster", cell: ({ spec }) => spec.nodeName || "-" },
  { title: "PHASE", cell: ({ status }) => status?.phase ?? "" },
  { title: "READY", cell: ({ status }) => status?.ready ? "True" : "False" },
  { title: "CPU", cell: ({ spec, status }) => share(status?.cpuPCT, spec.cpuPCT) },
  { title: "MEM", cell: ({ spec, status }) => share(status?.memPCT, spec.memPCT) },
  { title: "RESTARTS", cell: ({ status }) => String(status?.restarts ?? 0) },
  { title: "PID", only: "node", cell: ({ status }) => String(status?.pid ?? "-") },
  { title: "AGE", cell: ({ status }, now) => ageOf(status?.startTime, now) },
  { title: "THROTTLED", wide: true, cell: ({ status }) => percent(status?.cpuThrottledPCT) },
  { title: "OOM", wide: true, cell: ({ status }) => String(status?.oomKills ?? 0) },
  { title: "SOURCE", wide: true, only: "node", cell: ({ agent }) => agent?.source ?? "-" },
  { title: "SCRIPT", wide: true, cell: ({ spec }) => showURL(spec.shellFile || "-") },
  { title: "MESSAGE", cell: ({ status = {} }) => status.message || reasonBeside(status) },
];

/** Apps as `kubectl get ncapp` shows them, with usage against the cap. */
export function appTable(
  apps: NodeApp[],
  { now, wide = false, cluster = false, paint = (_, text) => text }: AppTableOptions,
): string[] {
  const hidden = cluster ? "node" : "cluster";
  const shown = columns.filter((column) => (wide || !column.wide) && column.only !== hidden);
  const phase = shown.findIndex(({ title }) => title === "PHASE");
  const rows = apps.map((app) => shown.map(({ cell }) => printableLine(cell(app, now))));
  return formatTable(
    [shown.map(({ title }) => title), ...rows],
    (cell, column, row) => column === phase && row > 0 ? paint(phaseColour(cell), cell) : cell,
  );
}

/** Use and cap: `12.5/20%`. */
export function share(used: string | undefined, cap: string | number | undefined): string {
  if (used === undefined) return "-";
  return cap === undefined || cap === "" ? `${used}%` : `${used}/${String(cap).replace("%", "")}%`;
}

/** How long ago, or `-`. */
export function ageOf(time: string | undefined, now: number): string {
  return time ? formatAge(now - Date.parse(time)) : "-";
}

function percent(value: string | undefined): string {
  return value === undefined ? "-" : `${value}%`;
}

function reasonBeside({ phase, reason }: { phase?: string; reason?: string }): string {
  return phase === reason ? "" : reason ?? "";
}
