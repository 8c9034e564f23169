/**
 * What sources and probes say, merged into the record of an app. Pure; where nothing changes it is the same record.
 *
 * An edit that makes a valid spec invalid is taken as if it had been refused, but for being told: the app goes on by its last
 * valid spec in everything, through ends, restarts of the agent and reboots, until the spec is valid again.
 */
import type { AppEvent, AppRecord, Run, RunnableApp } from "../types.ts";

/** What a source wants of an app. */
export interface Desired {
  app: RunnableApp;
  source: string;
  origin?: string;
  /** What is wrong with the spec. A new app is not started from it; one that has a valid spec goes on with that. */
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
  const heard = { ...record, invalid: undefined, invalidEdit: undefined, withdrawn: undefined };
  if (next.invalid === undefined || record.invalid !== undefined) return { record: { ...heard, ...next } };
  const { app, invalid, ...place } = next;
  return { record: { ...heard, ...place, app: seenAt(record.app, app), invalidEdit: invalid } };
}

/** Each problem with a spec is told once; one that went away and came back is told again. */
export function tellInvalid(record: AppRecord): { record: AppRecord; events: AppEvent[] } {
  const problem = record.invalid ?? record.invalidEdit;
  if (record.withdrawn || problem === record.toldInvalid) return { record, events: [] };
  const message = record.invalid ?? editMessage(record);
  const events: AppEvent[] = message ? [{ type: "Warning", reason: "InvalidSpec", message }] : [];
  return { record: { ...record, toldInvalid: problem }, events };
}

/** What people are told of an edit that is not taken; empty where there is none. */
export function editMessage({ invalidEdit }: AppRecord): string {
  return invalidEdit ? `${invalidEdit}; the last valid spec stays in force` : "";
}

/** What probes found is kept with the run: a new agent goes on from it, and does not call every app unready first. */
export function mergeProbed(record: AppRecord, { runId, ...probed }: ProbedRun): AppRecord {
  const { run } = record;
  if (run?.id !== runId) return record;
  const next = { ...run, ...probed };
  const isSame = next.ready === run.ready && next.startupPassed === run.startupPassed;
  return isSame ? record : { ...record, run: next };
}

/** The app as it was, with the generation of an edit that was seen and not taken. */
function seenAt(app: RunnableApp, { metadata: { generation } }: RunnableApp): RunnableApp {
  return { ...app, metadata: { ...app.metadata, generation } };
}
