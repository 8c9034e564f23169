import type { NCAppStatus } from "../../api/types.ts";
import { ageOf } from "./app-table.ts";
import { printableLine } from "./paint.ts";
import { formatAge, formatTable } from "./table.ts";

/** Returns the lines of a table of runs, the newest first: the one that lives, then those that have ended. */
export function runTable({ phase, startTime, recentRuns = [] }: NCAppStatus, now: number): string[] {
  const current = startTime ? [[startTime, ageOf(startTime, now), "", phase ?? "", ""]] : [];
  const ended = recentRuns.map(({ code, signal, reason = "", startedAt = "", finishedAt }) => [
    startedAt,
    formatAge(Date.parse(finishedAt ?? "") - Date.parse(startedAt)),
    `${code ?? "unknown"}${signal ? ` (${signal})` : ""}`,
    reason,
    ageOf(finishedAt, now),
  ]);
  const rows = [...current, ...ended].map((row) => row.map(printableLine));
  return rows.length > 0
    ? formatTable([["STARTED", "TOOK", "STATUS", "REASON", "ENDED"], ...rows])
    : ["No run yet."];
}
