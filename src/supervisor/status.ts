/** The status of an app as users see it, built from its record. Pure. */
import { withTransitionTime } from "../api/conditions.ts";
import { annotations } from "../api/names.ts";
import { formatPercent } from "../api/percent.ts";
import type { Reason } from "../api/reasons.ts";
import type { Condition, NCAppStatus, Phase } from "../api/types.ts";
import { isoSeconds } from "../lib/time.ts";
import { capsOf, type CapsState, hasCaps } from "./confinement/confinement.ts";
import { invalidEditMessage, runHash, statusPid, totalKills } from "./decide/decide.ts";
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

/**
 * Reports whether an app is ready: it runs, and its readiness or startup probe, if it has one, has passed. A run of what the spec
 * said before is about to be stopped, so it does not count.
 */
function isReady({ phase, run, app }: AppRecord): boolean {
  if (isOutdated({ run, app })) return false;
  const probed = app.spec.readinessProbe ?? app.spec.startupProbe;
  return phase === "Running" && (!probed || run?.ready === true);
}

function isOutdated({ run, app }: Pick<AppRecord, "run" | "app">): boolean {
  return run !== undefined && run.hash !== runHash(app);
}

/** Reports whether the state of an app usually lasts milliseconds: a start or a stop under way, or a run whose caps are about to be known. */
export function isPassing({ record, caps }: { record: AppRecord; caps?: CapsState }): boolean {
  const { phase, reason } = record;
  if (phase === "Running") return caps === undefined || isOutdated(record);
  return phase === "Starting" || phase === "Stopping" ||
    phase === "Pending" && (reason === "" || reason === "Stopped");
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

/** The message of the phase, and what is wrong with an edit that was not applied. */
function messageOf(record: AppRecord): string {
  const edit = invalidEditMessage(record);
  return [record.message, edit && `InvalidSpec: ${edit}`].filter(Boolean).join("; ");
}

function conditionsOf(record: AppRecord, ready: boolean, caps: CapsState | undefined): Condition[] {
  const observedGeneration = record.app.metadata.generation;
  const condition = (type: string, isTrue: boolean, reason: Reason | Phase, message = ""): Condition => ({
    type,
    status: isTrue ? "True" : "False",
    reason,
    message,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  });
  const list = [
    condition("Scheduled", true, "Bound"),
    condition("Ready", ready, ready ? "Ready" : record.reason || record.phase, ready ? "" : record.message),
  ];
  if (record.reason === "LimitsUnavailable") {
    list.push(condition("LimitsEnforced", false, record.reason, record.message));
  } else if (caps && !hasCaps(capsOf(record.app)) && !hasEscaped(caps)) {
    // Without cgroups, processes may be lost; that concerns every app.
    list.push(condition("LimitsEnforced", true, "NoLimits", caps.enforced ? "" : caps.message));
  } else if (caps?.enforced) list.push(condition("LimitsEnforced", true, "Enforced"));
  else if (caps) list.push(condition("LimitsEnforced", false, caps.reason, caps.message));
  return list;
}

/** Processes outside of the app's cgroup escape its cap on processes, too, which every app has. */
function hasEscaped(caps: CapsState): boolean {
  return !caps.enforced && caps.reason === "Escaped";
}

/**
 * Sets the time of each condition's last change, which stays while its status is the same, unless it is in the future: the clock was
 * wrong then.
 */
export function withTransitions(
  status: NCAppStatus,
  before: Condition[] = [],
  now: number,
): NCAppStatus {
  const past = before.filter(({ lastTransitionTime: time = "" }) => !(Date.parse(time) > now));
  const dated = status.conditions?.map((condition) => withTransitionTime(condition, past, isoSeconds(now)));
  return { ...status, conditions: dated ?? [] };
}
