import type { NCAppStatus } from "../../api/types.ts";
import type { NodeApp } from "../agent-api/agent-api.ts";
import { ageOf } from "./app-table.ts";
import { printableLine } from "./paint.ts";
import { formatAge, formatTable } from "./table.ts";

/** Returns the lines of a table of runs, the newest first: the one that lives, then those that have ended. The number is for `logs --run`. */
export function runTable({ phase, startTime, recentRuns = [] }: NCAppStatus, now: number): string[] {
  const current = startTime ? [["1", startTime, ageOf(startTime, now), "", phase ?? "", ""]] : [];
  const ended = recentRuns.map(({ code, signal, reason = "", startedAt = "", finishedAt }, index) => [
    String(index + current.length + 1),
    startedAt,
    formatAge(Date.parse(finishedAt ?? "") - Date.parse(startedAt)),
    `${code ?? "unknown"}${signal ? ` (${signal})` : ""}`,
    reason,
    ageOf(finishedAt, now),
  ]);
  const rows = [...current, ...ended].map((row) => row.map(printableLine));
  return rows.length > 0
    ? formatTable([["RUN", "STARTED", "TOOK", "STATUS", "REASON", "ENDED"], ...rows])
    : ["No run yet."];
}

/** The runs in the order of the table. */
export function runsOf({ agent, status = {} }: NodeApp): { id?: string; startedAt?: string }[] {
  const { startTime, recentRuns = [] } = status;
  return [...(startTime ? [{ id: agent?.run, startedAt: startTime }] : []), ...recentRuns];
}
