/** The last runs of an app, for its status. Pure. */
import type { RunnableApp } from "../../api/app-shapes.ts";
import type { LastExit, RecentRun } from "../types.ts";

/** The most runs that are kept, however the limits are set. */
export const maxRecentRuns = 10;

/** Returns the runs that an app keeps after one more has ended, newest first: as many of each kind as its limits allow. */
export function withRecentRun(runs: RecentRun[] = [], exit: LastExit, app: RunnableApp): RecentRun[] {
  const { message: _, ...run } = exit;
  return keepRuns([run, ...runs], app);
}

/** Returns the runs that the limits of the spec allow; the same list if that is all of them. */
export function keepRuns(runs: RecentRun[], { spec }: RunnableApp): RecentRun[] {
  const left = {
    completed: spec.successfulRunsHistoryLimit ?? maxRecentRuns,
    other: spec.failedRunsHistoryLimit ?? maxRecentRuns,
  };
  const kept = runs.filter(({ reason }) => left[reason === "Completed" ? "completed" : "other"]-- > 0);
  return kept.length === runs.length && kept.length <= maxRecentRuns ? runs : kept.slice(0, maxRecentRuns);
}
