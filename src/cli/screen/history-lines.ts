/** The history of an app as lines: one for each thing that happened, and below the end of a run what preceded it and its last output. Pure. */
import { isoSeconds } from "../../lib/time.ts";
import type { HistoryEntry } from "../../server/view.ts";
import { printable, printableLine } from "./paint.ts";
import { formatAge, formatTable } from "./table.ts";

/** How long before the end of a run something counts as having preceded it. */
const beforeMs = 900_000;

export function historyLines(entries: HistoryEntry[]): string[] {
  const events = entries.filter(({ usage }) => !usage);
  const rows = events.map(({ time, reason = "", message = "", count = 1, since = time, exit }) => {
    const often = count > 1 ? ` (x${count} since ${isoSeconds(since)})` : "";
    const ran = exit ? `, after ${ranFor(exit)}` : "";
    return [isoSeconds(time), reason, message + ran + often].map(printableLine);
  });
  return formatTable(rows).flatMap((line, index) => [line, ...detailLines(events[index]!, entries)]);
}

function detailLines(entry: HistoryEntry, entries: HistoryEntry[]): string[] {
  if (!entry.exit) return [];
  const before = preceding(entry, entries);
  const output = entry.exit.message ? entry.exit.message.split("\n") : [];
  return [
    ...(before.length > 0 ? [`    before: ${before.join(", ")}`] : []),
    ...output.map((line) => `    | ${printable(line)}`),
  ];
}

/** What preceded the end of a run, as far as it may explain it. */
function preceding({ time, exit }: HistoryEntry, entries: HistoryEntry[]): string[] {
  const started = Date.parse(exit?.startedAt ?? "") || time;
  const from = Math.max(time - beforeMs, started);
  // An edit restarts the app, so it comes before the start of the run that it may have broken.
  const since = (from: number) => entries.filter((entry) => entry.time >= from && entry.time <= time);
  const failedProbes = since(from).filter(({ reason }) => reason === "Unhealthy")
    .reduce((sum, { count = 1 }) => sum + count, 0);
  const usages = since(from).flatMap(({ usage }) => usage ? [usage] : []);
  const throttled = Math.max(0, ...usages.map(({ throttledPCT = 0 }) => throttledPCT));
  const memory = usages.at(-1)?.memPCT;
  const edit = since(started - beforeMs).findLast(({ reason }) => reason === "Edited");
  return [
    failedProbes > 0 ? `${failedProbes} failed ${failedProbes === 1 ? "probe" : "probes"}` : "",
    throttled >= 1 ? `CPU throttled ${throttled}% of the time` : "",
    memory === undefined ? "" : `memory ${memory}% of the node`,
    edit ? `the spec was changed ${formatAge(time - edit.time)} earlier` : "",
  ].filter(Boolean);
}

function ranFor({ startedAt = "", finishedAt = "" }: NonNullable<HistoryEntry["exit"]>): string {
  return formatAge(Date.parse(finishedAt) - Date.parse(startedAt));
}
