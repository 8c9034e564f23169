import type { NCApp } from "../api/types.ts";
import { formatAge, formatTable } from "./table.ts";

/** Apps as `kubectl get ncapp` shows them, with usage against the cap. */
export function appTable(apps: NCApp[], now: number): string[] {
  const header = ["NAMESPACE", "NAME", "PHASE", "READY", "CPU", "MEM", "RESTARTS", "PID", "AGE", "MESSAGE"];
  return formatTable([header, ...apps.map((app) => appRow(app, now))]);
}

function appRow({ metadata, spec, status = {} }: NCApp, now: number): string[] {
  return [
    metadata.namespace ?? "",
    metadata.name,
    status.phase ?? "",
    status.ready ? "True" : "False",
    share(status.cpuPCT, spec.cpuPCT),
    share(status.memPCT, spec.memPCT),
    String(status.restarts ?? 0),
    String(status.pid ?? "-"),
    status.startTime ? formatAge(now - Date.parse(status.startTime)) : "-",
    status.message || (status.phase === status.reason ? "" : status.reason ?? ""),
  ];
}

/** Use and cap: `12.5/20%`. */
function share(used: string | undefined, cap: string | number | undefined): string {
  if (used === undefined) return "-";
  return cap === undefined || cap === "" ? `${used}%` : `${used}/${String(cap).replace("%", "")}%`;
}
