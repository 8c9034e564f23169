import type { NCAppStatus } from "../../api/types.ts";
import { ageOf } from "./app-table.ts";
import { printableLine } from "./paint.ts";
import { formatTable } from "./table.ts";

/** Returns the lines of a table of the versions of an app, the one in force first; none if no version is known. */
export function versionTable({ revisions = [] }: NCAppStatus, now: number): string[] {
  if (revisions.length === 0) return [];
  const rows = revisions.map(({ revision = "", state = "", since, reason = "" }) =>
    [revision, state, ageOf(since, now), reason].map(printableLine)
  );
  return formatTable([["VERSION", "STATE", "SINCE", "REASON"], ...rows]);
}
