/**
 * Merges what sources and probes report into the record of an app. Pure; returns the same record if nothing changes.
 *
 * An edit that makes a valid spec invalid is handled as if it had been refused, except that it is reported: the app goes on with
 * its last valid spec, through exits, restarts of the agent and reboots, until the spec is valid again.
 */
import { isDeepStrictEqual } from "node:util";
import type { Desired, RunnableApp } from "../../api/app-shapes.ts";
import { partOf, revisionOf, updateOf, withVersion } from "./versions.ts";
import type { AppEvent, AppRecord, Run } from "../types.ts";

export type RunProbeState =
  & { runId: string }
  & Pick<Run, "ready" | "unready" | "startupPassed" | "probeErrors">;

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
    editedBy: undefined,
    withdrawn: undefined,
    ...(record.heldBy && !next.heldBy ? { reason: "", message: "" } : {}),
  };
  if (next.invalid === undefined || record.invalid !== undefined) {
    return { record: { ...wanted, ...next, ...keepRefused(record, next.app) } };
  }
  const { app, invalid, ...origin } = next;
  return { record: { ...wanted, ...origin, app: withIdentity(record.app, app), invalidEdit: invalid } };
}

/** A refused version stays refused while its content is the same and a failure is to go back; everything else of the spec applies. */
function keepRefused(record: AppRecord, wanted: RunnableApp): Pick<AppRecord, "app" | "refused"> {
  const { app, refused } = record;
  const isUnchanged = refused && revisionOf(refused.app) === revisionOf(wanted);
  const goesBack = refused?.reason === "UndoneByOperator" || updateOf(wanted)?.onFailure === "Rollback";
  if (!isUnchanged || !goesBack) return { app: wanted, refused: undefined };
  return { app: withVersion(wanted, { spec: partOf(app.spec) }), refused: { ...refused, app: wanted } };
}

/** Emits an event for each new problem with the spec; one that went away and came back is reported again. */
export function reportInvalid(record: AppRecord): { record: AppRecord; events: AppEvent[] } {
  const problem = record.invalid ?? record.invalidEdit;
  if (record.withdrawn || problem === record.toldInvalid) return { record, events: [] };
  const message = record.invalid ?? invalidEditMessage(record);
  const events: AppEvent[] = message ? [{ type: "Warning", reason: "InvalidSpec", message }] : [];
  return { record: { ...record, toldInvalid: problem }, events };
}

const maxNamedFields = 8;

/** What an edit changed in the spec that is in force, and who made it; undefined if it changed nothing there. */
export function editEvent(before: AppRecord, { app, editedBy, origin }: AppRecord): AppEvent | undefined {
  const specs = [before.app.spec, app.spec] as Record<string, unknown>[];
  if (specs[0] === specs[1]) return undefined;
  const names = new Set(specs.flatMap((spec) => Object.keys(spec)));
  const changed = [...names].filter((name) => !isDeepStrictEqual(specs[0]?.[name], specs[1]?.[name]));
  if (changed.length === 0) return undefined;
  const named = [...changed.slice(0, maxNamedFields), ...(changed.length > maxNamedFields ? ["…"] : [])];
  const { generation } = app.metadata;
  const where = [
    generation === undefined ? "" : `generation ${generation}`,
    editedBy ? `by ${editedBy}` : origin ? `in ${origin}` : "",
  ].filter(Boolean).join(", ");
  const message = `The spec was changed: ${named.join(", ")}${where && ` (${where})`}`;
  return { type: "Normal", reason: "Edited", message, isLocal: true };
}

/** What users read about an invalid edit; empty if there is none. */
export function invalidEditMessage({ invalidEdit }: AppRecord): string {
  return invalidEdit ? `${invalidEdit}; the last valid spec stays in force` : "";
}

/** Keeps what probes found with the run, so that a new agent does not report every app as unready first. */
export function mergeProbeState(
  record: AppRecord,
  { runId, ...state }: RunProbeState,
  now: number,
): AppRecord {
  const { run } = record;
  if (run?.id !== runId) return record;
  const errors = { ...run.probeErrors, ...state.probeErrors };
  const next: Run = { ...run, ...state, probeErrors: errors };
  if (next.ready !== run.ready) {
    next.readyAt = next.ready ? now : undefined;
    next.unreadyAt = run.ready ? now : undefined;
  }
  const isSame = next.ready === run.ready && next.startupPassed === run.startupPassed &&
    next.unready === run.unready &&
    probeKinds.every((kind) => errors[kind] === run.probeErrors?.[kind]);
  if (isSame) return record;
  const hasErrors = probeKinds.some((kind) => errors[kind] !== undefined);
  return { ...record, run: hasErrors ? next : { ...next, probeErrors: undefined } };
}

const probeKinds = ["startup", "liveness", "readiness"] as const;

/** The app as it was, with the generation of an edit that was observed but not applied. A deletion is applied. */
function withIdentity(app: RunnableApp, { metadata }: RunnableApp): RunnableApp {
  const { generation, deletionTimestamp } = metadata;
  return { ...app, metadata: { ...app.metadata, generation, deletionTimestamp } };
}
