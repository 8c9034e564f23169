/** Reading schedules costs memory that most nodes can save: it is loaded with the first app that has one. */
import type { Situation } from "./decide/decide.ts";
import type { RunnableApp } from "./types.ts";

/** When the app's schedule is due after a time; undefined for an app without one. */
export async function nextRunOf({ spec }: RunnableApp): Promise<Situation["nextRun"]> {
  const { schedule, timeZone } = spec;
  if (!schedule) return undefined;
  const { nextRun } = await import("./cron-times.ts");
  return (after) => nextRun(schedule, timeZone, after);
}
