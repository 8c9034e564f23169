/** The status of an app as users see it, built from its record. Pure. */
import { withTransitionTime } from "../api/conditions.ts";
import { annotations } from "../api/names.ts";
import { formatPercent } from "../api/percent.ts";
import type { Condition, NCAppStatus } from "../api/types.ts";
import { isoSeconds } from "../lib/time.ts";
import { conditionsOf } from "./conditions.ts";
import type { CapsState } from "./confinement/confinement.ts";
import {
  invalidEditMessage,
  isReady,
  keepRuns,
  retryMessage,
  revisionsOf,
  runHash,
  statusPid,
  totalKills,
  versionName,
} from "./decide/decide.ts";
import type { AppRecord, KillCounts } from "./types.ts";

/** What was measured between two readings, in the units of the status. */
export interface Measured {
  /** Rates need two readings: absent at first. */
  cpuPCT?: number;
  cpuThrottledPCT?: number;
  memPCT: number;
  memoryBytes: number;
  processes: number;
  kills?: KillCounts;
}

export interface StatusInput {
  record: AppRecord;
  caps?: CapsState;
  measured?: Measured;
}

function isOutdated({ run, app }: Pick<AppRecord, "run" | "app">): boolean {
  return run !== undefined && run.hash !== runHash(app);
}

/** Reports whether the state of an app usually lasts milliseconds: a start or a stop under way, or a run whose caps are about to be known. */
export function isPassing({ record, caps }: { record: AppRecord; caps?: CapsState }): boolean {
  const { phase, reason } = record;
  if (phase === "Running") return caps === undefined || isOutdated(record);
  // Services must stop sending requests at once to an app that does not start again.
  if (phase === "Stopping") return !isEnding(record);
  return phase === "Starting" || phase === "Pending" && (reason === "" || reason === "Stopped");
}

function isEnding({ app, withdrawn }: AppRecord): boolean {
  return withdrawn === true || app.spec.suspend === true || app.metadata.deletionTimestamp !== undefined;
}

/** Reports whether an app runs, and its startup probe, if it has one, has passed. */
export function isStarted({ phase, run, app }: AppRecord): boolean {
  return phase === "Running" && (!app.spec.startupProbe || run?.startupPassed === true);
}

/**
 * Returns `status.nodeName`: the node while processes may exist there or the app may start, empty once a deleted app has stopped.
 * Undefined for an app that another node holds.
 */
export function holderOf({ app, run, hold, heldBy }: AppRecord, node: string): string | undefined {
  // What runs under a record that cannot be read is unknown.
  if (run || hold !== undefined) return node;
  if (heldBy) return undefined;
  return app.metadata.deletionTimestamp ? "" : node;
}

/** Builds the whole status; conditions carry no times yet, see `withTransitions`. */
export function statusOf({ record: known, caps, measured }: StatusInput): NCAppStatus {
  const record: AppRecord = endedBefore(known)
    ? { ...known, phase: "Pending", reason: "", message: "" }
    : known;
  const { run, app } = record;
  const ready = isReady(record);
  const lives = record.phase === "Running" || record.phase === "Stopping";
  const restart = app.metadata.annotations?.[annotations.restartedAt];
  const pid = lives && run ? statusPid(run) : undefined;
  // The limits may have been lowered since the last run.
  const revisions = revisionsOf(record);
  const recentRuns = keepRuns(record.recentRuns ?? [], app);
  return {
    phase: record.phase,
    reason: record.reason,
    message: messageOf(record),
    observedGeneration: app.metadata.generation,
    ...(restart === undefined ? {} : { observedRestartedAt: restart }),
    ready,
    ...(pid === undefined ? {} : { pid }),
    ...(lives && run?.startedAt ? { startTime: isoSeconds(run.startedAt) } : {}),
    ...(lives && measured
      ? {
        processes: measured.processes,
        ...(measured.cpuPCT === undefined ? {} : { cpuPCT: formatPercent(measured.cpuPCT) }),
        memPCT: formatPercent(measured.memPCT),
        memoryBytes: Math.round(measured.memoryBytes),
        ...(measured.cpuThrottledPCT === undefined
          ? {}
          : { cpuThrottledPCT: formatPercent(measured.cpuThrottledPCT) }),
      }
      : {}),
    restarts: record.restarts,
    oomKills: totalKills(record, run && measured?.kills),
    ...(record.lastExit ? { lastExit: record.lastExit } : {}),
    ...(recentRuns.length > 0 ? { recentRuns } : {}),
    ...(record.good ? { goodRevision: versionName(record.good) } : {}),
    ...(revisions.length > 0 ? { revisions } : {}),
    ...(record.scheduled?.nextRun ? { nextRun: isoSeconds(record.scheduled.nextRun) } : {}),
    ...(record.scheduled?.lastRun ? { lastRun: isoSeconds(record.scheduled.lastRun) } : {}),
    ...(app.spec.schedule && record.lastSuccess ? { lastSuccess: record.lastSuccess } : {}),
    conditions: conditionsOf(record, ready, caps),
  };
}

/**
 * Reports whether the phase is the end of a run of an earlier spec, and the next step starts the new one: a status with the new
 * generation must not show how the old one failed.
 */
function endedBefore({ phase, retryAt, lastHash, app, invalid, withdrawn }: AppRecord): boolean {
  const hasEnded = phase === "BackOff" || phase === "Failed" || phase === "Succeeded" ||
    phase === "Pending" && retryAt !== undefined;
  return hasEnded && lastHash !== undefined && lastHash !== runHash(app) && invalid === undefined &&
    !withdrawn &&
    app.metadata.deletionTimestamp === undefined;
}

/** The message of the phase, when the app is tried again, and what is wrong with an edit that was not applied or went back. */
function messageOf(record: AppRecord): string {
  const edit = invalidEditMessage(record);
  const [refusal] = record.refused?.message.split("\n", 1) ?? [];
  return [
    record.message,
    retryMessage(record),
    edit && `InvalidSpec: ${edit}`,
    refusal && `RolledBack: ${refusal}`,
  ].filter(Boolean).join("; ");
}

/**
 * When conditions have changed, as far as the record tells, for an agent that has not seen it: an agent that starts must not make all
 * conditions look new.
 */
export function transitionTimes({ run, lastExit, recentRuns }: AppRecord): Record<string, number> {
  const ended = Date.parse(lastExit?.finishedAt ?? "");
  const times = {
    Scheduled: Date.parse(recentRuns?.at(-1)?.startedAt ?? lastExit?.startedAt ?? "") || run?.createdAt,
    Ready: run?.readyAt ?? run?.unreadyAt ?? run?.startedAt ?? ended,
    LimitsEnforced: run?.startedAt ?? ended,
  };
  return Object.fromEntries(Object.entries(times).flatMap(([type, time]) => time ? [[type, time]] : []));
}

/**
 * Sets the time of each condition's last change, which stays while its status is the same, unless it is in the future: the clock was
 * wrong then.
 */
export function withTransitions(
  status: NCAppStatus,
  before: Condition[] = [],
  now: number,
  known: Record<string, number> = {},
): NCAppStatus {
  const past = before.filter(({ lastTransitionTime: time = "" }) => !(Date.parse(time) > now));
  const dated = status.conditions?.map((condition) => {
    const time = Math.min(now, known[condition.type] ?? now);
    return withTransitionTime(condition, past, isoSeconds(time));
  });
  return { ...status, conditions: dated ?? [] };
}
