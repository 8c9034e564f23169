/**
 * Merges what sources and probes report into the record of an app. Pure; returns the same record if nothing changes.
 *
 * An edit that makes a valid spec invalid is handled as if it had been refused, except that it is reported: the app goes on with
 * its last valid spec, through exits, restarts of the agent and reboots, until the spec is valid again.
 */
import type { Desired, RunnableApp } from "../../api/app-shapes.ts";
import type { AppEvent, AppRecord, Run } from "../types.ts";

export type RunProbeState = { runId: string } & Pick<Run, "ready" | "startupPassed">;

export function newRecord(desired: Desired): AppRecord {
  return { ...desired, phase: "Pending", reason: "", message: "", restarts: 0, failures: 0, oomKills: 0 };
}

/** The record of an app whose record on disk cannot be read; `hold` says why and what to do. */
export function heldRecord(desired: Desired, hold: string): AppRecord {
  return { ...newRecord(desired), reason: "RecordUnreadable", message: hold, hold };
}

/** The record with what the source wants now. Another uid is another app: the old one goes first, then its successor starts. */
export function mergeDesired(
  record: AppRecord,
  next: Desired | "withdrawn",
): { record: AppRecord; successor?: Desired } {
  const withdrawn = record.withdrawn ? record : { ...record, withdrawn: true };
  if (next === "withdrawn") return { record: withdrawn };
  if (record.hold !== undefined) return { record: heldRecord(next, record.hold) };
  if (next.app.metadata.uid !== record.app.metadata.uid) return { record: withdrawn, successor: next };
  const wanted: AppRecord = {
    ...record,
    invalid: undefined,
    invalidEdit: undefined,
    heldBy: undefined,
    withdrawn: undefined,
    ...(record.heldBy && !next.heldBy ? { reason: "", message: "" } : {}),
  };
  if (next.invalid === undefined || record.invalid !== undefined) return { record: { ...wanted, ...next } };
  const { app, invalid, ...origin } = next;
  return { record: { ...wanted, ...origin, app: withIdentity(record.app, app), invalidEdit: invalid } };
}

/** Emits an event for each new problem with the spec; one that went away and came back is reported again. */
export function reportInvalid(record: AppRecord): { record: AppRecord; events: AppEvent[] } {
  const problem = record.invalid ?? record.invalidEdit;
  if (record.withdrawn || problem === record.toldInvalid) return { record, events: [] };
  const message = record.invalid ?? invalidEditMessage(record);
  const events: AppEvent[] = message ? [{ type: "Warning", reason: "InvalidSpec", message }] : [];
  return { record: { ...record, toldInvalid: problem }, events };
}

/** What users read about an invalid edit; empty if there is none. */
export function invalidEditMessage({ invalidEdit }: AppRecord): string {
  return invalidEdit ? `${invalidEdit}; the last valid spec stays in force` : "";
}

/** Keeps what probes found with the run, so that a new agent does not report every app as unready first. */
export function mergeProbeState(record: AppRecord, { runId, ...state }: RunProbeState): AppRecord {
  const { run } = record;
  if (run?.id !== runId) return record;
  const next = { ...run, ...state };
  const isSame = next.ready === run.ready && next.startupPassed === run.startupPassed;
  return isSame ? record : { ...record, run: next };
}

/** The app as it was, with the generation of an edit that was observed but not applied. A deletion is applied. */
function withIdentity(app: RunnableApp, { metadata }: RunnableApp): RunnableApp {
  const { generation, deletionTimestamp } = metadata;
  return { ...app, metadata: { ...app.metadata, generation, deletionTimestamp } };
}
