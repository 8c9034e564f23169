/**
 * What sources and probes say, merged into the record of an app. Pure; where nothing changes it is the same record.
 */
import type { AppRecord, Run, RunnableApp } from "./types.ts";

/** What a source wants of an app. */
export interface Desired {
  app: RunnableApp;
  source: string;
  origin?: string;
  /** What is wrong with the spec. Such an app is not started; one that runs goes on as it was. */
  invalid?: string;
}

/** What probes found out about a run. */
export type ProbedRun = { runId: string } & Pick<Run, "ready" | "startupPassed">;

/** The record of an app that was never seen before. */
export function newRecord(desired: Desired): AppRecord {
  return { ...desired, phase: "Pending", reason: "", message: "", restarts: 0, failures: 0, oomKills: 0 };
}

/** The record after what the source said last. Another uid is another app: the old one goes first, then its successor comes. */
export function mergeDesired(
  record: AppRecord,
  next: Desired | "withdrawn",
): { record: AppRecord; successor?: Desired } {
  const withdrawn = record.withdrawn ? record : { ...record, withdrawn: true };
  if (next === "withdrawn") return { record: withdrawn };
  if (next.app.metadata.uid !== record.app.metadata.uid) return { record: withdrawn, successor: next };
  return { record: { ...record, invalid: undefined, ...next, withdrawn: undefined } };
}

/** What probes found is kept with the run: a new agent goes on from it, and does not call every app unready first. */
export function mergeProbed(record: AppRecord, { runId, ...probed }: ProbedRun): AppRecord {
  const { run } = record;
  if (run?.id !== runId) return record;
  const next = { ...run, ...probed };
  const isSame = next.ready === run.ready && next.startupPassed === run.startupPassed;
  return isSame ? record : { ...record, run: next };
}
