/** The status of an app as users see it, built from its record. Pure. */
import { withTransitionTime } from "../api/conditions.ts";
import { formatPercent } from "../api/percent.ts";
import type { Condition, NCAppStatus } from "../api/types.ts";
import { isoSeconds } from "../lib/time.ts";
import { capsOf, type CapsState, hasCaps } from "./confinement/confinement.ts";
import { invalidEditMessage, statusPid, totalKills } from "./decide/decide.ts";
import type { AppRecord } from "./types.ts";

/** What was measured between two readings, in the units of the status. */
export interface Measured {
  cpuPCT: number;
  memPCT: number;
  memoryBytes: number;
  cpuThrottledPCT: number;
  processes: number;
  oomKills: number;
}

export interface StatusInput {
  record: AppRecord;
  ready: boolean;
  caps?: CapsState;
  measured?: Measured;
}

/** Reports whether an app is ready: it runs, and its readiness or startup probe, if it has one, has passed. */
export function isReady({ phase, run, app }: AppRecord): boolean {
  const probed = app.spec.readinessProbe ?? app.spec.startupProbe;
  return phase === "Running" && (!probed || run?.ready === true);
}

/** Builds the whole status; conditions carry no times yet, see `withTransitions`. */
export function statusOf({ record, ready, caps, measured }: StatusInput): NCAppStatus {
  const { run, app } = record;
  const lives = record.phase === "Running" || record.phase === "Stopping";
  const pid = lives && run ? statusPid(run) : undefined;
  return {
    phase: record.phase,
    reason: record.reason,
    message: messageOf(record),
    observedGeneration: app.metadata.generation,
    ready,
    ...(pid === undefined ? {} : { pid }),
    ...(lives && run?.startedAt ? { startTime: isoSeconds(run.startedAt) } : {}),
    ...(lives && measured
      ? {
        processes: measured.processes,
        cpuPCT: formatPercent(measured.cpuPCT),
        memPCT: formatPercent(measured.memPCT),
        memoryBytes: Math.round(measured.memoryBytes),
        cpuThrottledPCT: formatPercent(measured.cpuThrottledPCT),
      }
      : {}),
    restarts: record.restarts,
    oomKills: totalKills(record, run && measured ? measured.oomKills : 0),
    ...(record.lastExit ? { lastExit: record.lastExit } : {}),
    ...(record.scheduled?.nextRun ? { nextRun: isoSeconds(record.scheduled.nextRun) } : {}),
    ...(record.scheduled?.lastRun ? { lastRun: isoSeconds(record.scheduled.lastRun) } : {}),
    conditions: conditionsOf(record, ready, caps),
  };
}

/** The message of the phase, and what is wrong with an edit that was not applied. */
function messageOf(record: AppRecord): string {
  const edit = invalidEditMessage(record);
  return [record.message, edit && `InvalidSpec: ${edit}`].filter(Boolean).join("; ");
}

function conditionsOf(record: AppRecord, ready: boolean, caps: CapsState | undefined): Condition[] {
  const observedGeneration = record.app.metadata.generation;
  const condition = (type: string, isTrue: boolean, reason: string, message = ""): Condition => ({
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
  } else if (caps && !hasCaps(capsOf(record.app))) list.push(condition("LimitsEnforced", true, "NoLimits"));
  else if (caps?.enforced) list.push(condition("LimitsEnforced", true, "Enforced"));
  else if (caps) list.push(condition("LimitsEnforced", false, caps.reason, caps.message));
  return list;
}

/** Sets the time of each condition's last change, which stays while its status is the same. */
export function withTransitions(
  status: NCAppStatus,
  before: Condition[] | undefined,
  now: number,
): NCAppStatus {
  const dated = status.conditions?.map((condition) => withTransitionTime(condition, before, isoSeconds(now)));
  return { ...status, conditions: dated ?? [] };
}
