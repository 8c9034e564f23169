/**
 * A new version of an app is on trial until it is good: ready for `minReadySeconds`, or run to completion. If it fails before, and
 * `update.onFailure` is Rollback, the last good version comes back, and the one that failed is refused until its content changes. Pure.
 *
 * Everything is in the record, which is saved before its effects: an agent that is killed at any point goes on from there, also offline.
 * Versions of apps without `update` become good, too, so that `undo` knows where to go back to; nothing of them is rolled back.
 */
import { noWait } from "./retry.ts";
import { runHash } from "./run-hash.ts";
import type { Decision, Situation } from "./situation.ts";
import type { AppEvent, AppRecord, LastExit, Refused, Run, Version } from "../types.ts";
import {
  currentVersion,
  isSameVersion,
  partOf,
  revisionOf,
  updateOf,
  versionName,
  wantedApp,
  withVersion,
} from "./versions.ts";

const secondMs = 1000;
const usualMinReadySeconds = 10;

/** Reports whether an app is ready: it runs what its spec says, and its readiness or startup probe, if it has one, has passed. */
export function isReady({ phase, run, app }: AppRecord): boolean {
  const probed = app.spec.readinessProbe ?? app.spec.startupProbe;
  return phase === "Running" && run?.hash === runHash(app) && (!probed || run.ready === true);
}

/** The record with what is known of the version in force: the digest of its script, and since when it is on trial. */
export function withTrial(record: AppRecord, { view, now, wantedScript }: Situation): AppRecord {
  const read = view?.script !== undefined && record.run && record.run.script === undefined
    ? { ...record, run: { ...record.run, script: view.script } }
    : record;
  const known = withChangedScript(read, wantedScript);
  const trial = trialOf(known, now);
  return isSameTrial(trial, known.trial) ? known : { ...known, trial };
}

/** A refused script that is another one now is tried. */
function withChangedScript(record: AppRecord, wantedScript: string | undefined): AppRecord {
  const { refused } = record;
  if (!refused?.script || !wantedScript || wantedScript === refused.script) return record;
  return { ...record, ...noWait, app: refused.app, refused: undefined };
}

function trialOf(record: AppRecord, now: number): AppRecord["trial"] {
  const { app, good, trial } = record;
  if (!app.spec.shellFile) return undefined;
  const { revision, script } = currentVersion(record);
  const isKnown = trial?.revision === revision;
  if (revision === good?.revision && (script ? script === good.script : !isKnown)) return undefined;
  if (!isKnown || script && trial.script && script !== trial.script) {
    return { revision, ...(script ? { script } : {}), since: now };
  }
  const known = script ?? trial.script;
  // A later time comes from a clock that was set back.
  const since = isResting(record) && mayStart(record) ? now : Math.min(trial.since, now);
  return { revision, ...(known ? { script: known } : {}), since };
}

/** What must not start cannot fail, and its time does not run. */
function mayStart({ app, invalid, heldBy, stoppedAt }: AppRecord): boolean {
  const { suspend, shellFile } = app.spec;
  return invalid === undefined && !heldBy && stoppedAt === undefined && !suspend && Boolean(shellFile);
}

function isResting({ phase, reason }: AppRecord): boolean {
  return phase === "Stopped" ||
    phase === "Pending" && ["InvalidSpec", "StillStopping", "NoShellFile"].includes(reason);
}

/** A new agent has not seen how the version on trial did meanwhile: it gets its whole time again. */
export function restartTrial(record: AppRecord, now: number): AppRecord {
  return record.trial ? { ...record, trial: { ...record.trial, since: now } } : record;
}

function isSameTrial(a: AppRecord["trial"], b: AppRecord["trial"]): boolean {
  return a?.revision === b?.revision && a?.script === b?.script && a?.since === b?.since;
}

/** When the version on trial will be good if nothing happens until then; undefined if it is not ready, or not on trial. */
export function goodTime(record: AppRecord, now: number): number | undefined {
  const { trial, run, app } = record;
  if (!trial || !run || app.spec.schedule || !isReady(record)) return undefined;
  const waitMs = (updateOf(app)?.minReadySeconds ?? usualMinReadySeconds) * secondMs;
  const readyAt = run.readyAt ?? run.startedAt ?? run.createdAt;
  // A later time comes from a clock that was set back.
  return (readyAt > now ? trial.since : Math.max(trial.since, readyAt)) + waitMs;
}

/** The version on trial is good. */
export function becomeGood(record: AppRecord, now: number): Pick<Decision, "record" | "events"> {
  const { trial, good, previous } = record;
  if (!trial) return { record, events: [] };
  const { revision, script } = trial;
  const next: Version = {
    revision,
    spec: partOf(record.app.spec),
    ...(script ? { script } : {}),
    at: now,
  };
  const message = `Version ${versionName(next)} is good`;
  return {
    record: {
      ...record,
      good: next,
      previous: good && !isSameVersion(next, good) ? good : previous,
      trial: undefined,
    },
    events: [{ type: "Normal", reason: "VersionGood", message, isLocal: true }],
  };
}

/** When the version on trial must be good; undefined if nothing happens then. An app with a schedule is judged by its runs. */
export function progressDeadline(record: AppRecord): number | undefined {
  const { app, trial, withdrawn } = record;
  if (!trial || !canRollBack(record) || !mayStart(record) || app.spec.schedule) return undefined;
  if (withdrawn || app.metadata.deletionTimestamp) return undefined;
  return trial.since + (updateOf(app)?.progressDeadlineSeconds ?? 0) * secondMs;
}

/** Reports whether a failure of the version on trial brings back a good one that is known to be another. Not twice for the same edit. */
function canRollBack({ app, good, trial, refused }: AppRecord): boolean {
  if (!good || !trial || refused || updateOf(app)?.onFailure !== "Rollback") return false;
  // The good version of an app that runs once has done its work.
  if (app.spec.restartPolicy === "Never" && !app.spec.schedule) return false;
  return trial.revision !== good.revision || (good.script !== undefined && trial.script !== good.script);
}

/** Rolls back a version that is not good in time; undefined if there is none, or a start or a stop is under way. */
export function rollBackLate(record: AppRecord, situation: Situation): Decision | undefined {
  const { now, halted } = situation;
  const isBetween = record.phase === "Starting" || record.phase === "Stopping";
  const isGood = now >= (goodTime(record, now) ?? Infinity);
  if (isBetween || isGood || halted || now < (progressDeadline(record) ?? Infinity)) return undefined;
  const { minReadySeconds, progressDeadlineSeconds } = updateOf(record.app)!;
  const probes = Object.values(record.run?.probeErrors ?? {}).filter(Boolean);
  const why = [
    `not ready for ${minReadySeconds} s within ${progressDeadlineSeconds} s`,
    record.message,
    ...probes,
  ];
  return rollBack(
    record,
    { reason: "ProgressDeadlineExceeded", why: why.filter(Boolean).join(": ") },
    situation,
  );
}

/** What the end of a run says about the version on trial: good, failed, or nothing. The record has the end, and no run. */
export function judgeEnd(
  ended: AppRecord & { lastExit: LastExit },
  { hash, script }: Run,
  summary: string,
  situation: Situation,
): Decision | undefined {
  const { app, lastExit, trial } = ended;
  if (!trial || hash !== runHash(app) || blameless.includes(lastExit.reason)) return undefined;
  const isJob = app.spec.schedule || app.spec.restartPolicy !== "Always";
  if (lastExit.reason === "Completed" && isJob) {
    return { ...becomeGood(ended, situation.now), effects: [] };
  }
  const failed = script ? { ...ended, trial: { ...trial, script } } : ended;
  if (!canRollBack(failed)) return undefined;
  return rollBack(failed, { reason: lastExit.reason, why: summary }, situation);
}

/** Ends that say nothing about what ran. */
const blameless: readonly string[] = ["Evicted", "NodeRebooted", "Lost", "Stopped"];

function rollBack(
  record: AppRecord,
  { reason, why }: { reason: Refused["reason"]; why: string },
  { now, logTail = "" }: Situation,
): Decision {
  const { good, trial } = record;
  const failed = trial ? versionName(trial) : revisionOf(record.app);
  const message = `version ${failed} failed: ${why}; back to version ${
    versionName(good!)
  } until its content changes`;
  const lines = logTail ? `${message}\n${logTail}` : message;
  const next = goBack(record, good!, { reason, message: lines, at: now });
  const event: AppEvent = { type: "Warning", reason: "RolledBack", message };
  const rests = next.run ? {} : { phase: "Pending" as const, reason: "RolledBack" as const, message: "" };
  return { record: { ...next, ...rests }, effects: [], events: [event], wakeAt: now };
}

/** The record with an earlier version in force, and what the source wants refused. */
function goBack(
  record: AppRecord,
  target: Version,
  why: Pick<Refused, "reason" | "message" | "at">,
): AppRecord {
  const { run, trial } = record;
  const wanted = wantedApp(record);
  const script = record.refused ? record.refused.script : trial?.script ?? currentVersion(record).script;
  const isRefused = { revision: revisionOf(wanted), script };
  const isLifted = record.refused !== undefined && isSameVersion(isRefused, target);
  const app = isLifted ? wanted : withVersion(wanted, target);
  const refused = isLifted ? undefined : { app: wanted, ...(script ? { script } : {}), ...why };
  // The spec does not show that another script is to run.
  const restarts = run && run.hash === runHash(app) && target.script && run.script !== target.script;
  return {
    ...record,
    ...noWait,
    app,
    refused,
    trial: undefined,
    ...(restarts ? { run: { ...run, restart: true } } : {}),
  };
}

/** The version that `undo` goes back to: the last good one or, if that is in force, the good one before it. */
export function undoTarget(record: AppRecord): Version | undefined {
  const { good, previous, trial } = record;
  return trial ? good : previous;
}

/** The record with the version in force undone; the same record if there is no other. Undone again, it is back. */
export function undo(record: AppRecord, now: number, message: string): AppRecord {
  const target = undoTarget(record);
  if (!target) return record;
  const next = goBack(record, target, { reason: "UndoneByOperator", message, at: now });
  const hasEnded = record.phase === "Failed" || record.phase === "Succeeded";
  return {
    ...next,
    good: { ...target, at: now },
    previous: record.trial ? record.previous : record.good,
    ...(hasEnded ? { phase: "Pending", reason: "", message: "" } : {}),
  };
}
