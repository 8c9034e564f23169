/** What `nckubelet top` shows. Pure. */
import { keyOf } from "../../api/names.ts";
import { showURL } from "../../api/shown-spec.ts";
import type { AgentStatus, NodeApp } from "../agent-api/agent-api.ts";
import { ageOf, share } from "./app-table.ts";
import { type Paint, phaseColour, printableLine } from "./paint.ts";
import { formatAge, formatTable } from "./table.ts";

export interface TopOptions {
  now: number;
  /** With process, source and script. */
  wide?: boolean;
  paint?: Paint;
  /** Longer lines are cut; 0: none is. */
  columns?: number;
}

/** The lines: the node, then the apps, those that use most first. */
export function topLines(
  { agent, apps }: { agent: AgentStatus; apps: NodeApp[] },
  { now, wide = false, paint = (_, text) => text, columns = 0 }: TopOptions,
): string[] {
  const running = apps.filter(({ status }) => status?.phase === "Running");
  const sum = (field: "cpuPCT" | "memPCT") =>
    apps.reduce((total, { status }) => total + Number(status?.[field] ?? 0), 0).toFixed(1);
  const head = [
    `node ${agent.node}, agent ${agent.version}, up ${formatAge(now - Date.parse(agent.startedAt))}`,
    `${apps.length} ${apps.length === 1 ? "app" : "apps"}, ${running.length} running; together ${
      sum("cpuPCT")
    }% CPU, ${sum("memPCT")}% memory`,
    ...(agent.limits.enforced ? [] : [`caps are not enforced: ${agent.limits.message}`]),
  ].map((line) => cut(line, columns));
  const header = [
    ...["APP", "PHASE", "CPU", "HELD BACK", "MEM", "MiB", "PROCS", "OOM", "RESTARTS", "AGE"],
    ...(wide ? ["PID", "SOURCE", "SCRIPT"] : []),
  ];
  const rows = apps.toSorted(byUse).map((app) => [...topRow(app, now), ...(wide ? wideCells(app) : [])]);
  // Cut before it is painted: colours have no width.
  const plain = formatTable([header, ...rows]);
  const body = plain.map((line) => cut(line, columns)).map((line, index) => {
    const phase = rows[index - 1]?.[1];
    return phase ? line.replace(` ${phase}`, ` ${paint(phaseColour(phase), phase)}`) : paint("bold", line);
  });
  return [...head, "", ...body];
}

function topRow({ metadata, spec, status = {} }: NodeApp, now: number): string[] {
  return [
    keyOf({ metadata }),
    status.phase ?? "",
    share(status.cpuPCT, spec.cpuPCT),
    status.cpuThrottledPCT === undefined ? "-" : `${status.cpuThrottledPCT}%`,
    share(status.memPCT, spec.memPCT),
    status.memoryBytes === undefined ? "-" : (status.memoryBytes / 2 ** 20).toFixed(1),
    String(status.processes ?? "-"),
    String(status.oomKills ?? 0),
    String(status.restarts ?? 0),
    ageOf(status.startTime, now),
  ];
}

function wideCells({ spec, status = {}, agent }: NodeApp): string[] {
  const script = printableLine(showURL(spec.shellFile || "-"));
  return [String(status.pid ?? "-"), agent?.source ?? "-", script];
}

/** Orders apps, the greediest first: by CPU, then by memory, then by name. */
export function byUse(one: NodeApp, other: NodeApp): number {
  const use = ({ status }: NodeApp) => Number(status?.cpuPCT ?? -1);
  const memory = ({ status }: NodeApp) => status?.memoryBytes ?? -1;
  return use(other) - use(one) || memory(other) - memory(one) || (keyOf(one) < keyOf(other) ? -1 : 1);
}

function cut(line: string, columns: number): string {
  return columns > 0 && line.length > columns ? `${line.slice(0, columns - 1)}…` : line;
}
