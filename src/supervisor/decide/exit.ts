/** Describes how a run ended: the code, the signal behind it, and the reason. */
import { constants } from "node:os";
import { parsePercent } from "../../api/percent.ts";
import type { Reason } from "../../api/reasons.ts";
import { isoSeconds } from "../../lib/time.ts";
import { withRecentRun } from "./recent-runs.ts";
import type { AppRecord, LastExit, ProcessExit, Run, RunnableApp, RunView } from "../types.ts";

export interface ExitContext {
  app: RunnableApp;
  now: number;
  /** Out-of-memory kills that may have ended the run. */
  kills: number;
  /** The last lines of the log, which the message of a failure ends with. */
  tail: string;
}

export function describeExit(run: Run, view: RunView, { app, now, kills, tail }: ExitContext): LastExit {
  const { code, signal } = endedBy(view) ?? {};
  const reason = exitReason(run, view, kills);
  return {
    id: run.id,
    ...(code === undefined ? {} : { code }),
    ...(signal ? { signal: signalName(signal) } : {}),
    reason,
    startedAt: isoSeconds(run.startedAt ?? run.createdAt),
    finishedAt: isoSeconds(endOf(view, now)),
    message: joinLines(
      run.stop?.file?.problem ?? "",
      reason === "OOMKilled" ? joinLines(outOfMemory(app), tail) : exitMessage(run, view, reason, tail),
    ),
  };
}

/** When a run ended. If only the end of its script is known, that is when the last process was seen gone. */
export function endOf(view: RunView, now: number): number {
  return endedBy(view) ? view.exit?.at ?? now : now;
}

/** Reports whether SIGKILL ended the run, as far as is known: any other status is the app's own. */
export function wasKilled(view: RunView): boolean {
  const end = endedBy(view);
  return end === undefined || end.signal === constants.signals.SIGKILL;
}

/**
 * The exit that ended the run; undefined if unknown. A script that failed is the app, and what it left behind was stopped for that.
 * One that ended with 0 has daemonized: what it left behind is the app.
 */
function endedBy({ exit }: RunView): ProcessExit | undefined {
  if (!exit || exit.code !== 0) return exit;
  return exit.last === "unknown" ? undefined : exit.last ?? exit;
}

/** What the kernel did, with the cap that the user may want to raise. */
export function outOfMemory({ spec }: RunnableApp): string {
  const memPCT = parsePercent(spec.memPCT);
  return `the kernel killed it: out of memory (${memPCT === undefined ? "no memPCT" : `memPCT ${memPCT}`})`;
}

/** Reports whether a run completed: exit status 0, and nothing had to be killed. */
export function isSuccess(exit: LastExit): boolean {
  return exit.reason === "Completed";
}

/** Reports whether the restart policy repeats a run that ended like this. */
export function restartsAfter({ spec: { restartPolicy } }: RunnableApp, exit: LastExit): boolean {
  // As with the deadline of a Pod or a Job, no policy repeats the run: it would take too long again.
  if (exit.reason === "DeadlineExceeded") return false;
  return restartPolicy === "Always" || (restartPolicy === "OnFailure" && !isSuccess(exit));
}

export type EndedRecord = AppRecord & { lastExit: LastExit };

/** The record with how a run ended and, if it completed, when. */
export function withLastExit(record: AppRecord, lastExit: LastExit): EndedRecord {
  const recentRuns = withRecentRun(record.recentRuns, lastExit, record.app);
  const lastSuccess = isSuccess(lastExit) ? { lastSuccess: lastExit.finishedAt } : {};
  return { ...record, lastExit, recentRuns, ...lastSuccess };
}

export function signalName(number: number): string {
  for (const [name, value] of Object.entries(constants.signals)) if (value === number) return name;
  return `SIG${number}`;
}

function exitReason(run: Run, view: RunView, kills: number): Reason {
  const end = endedBy(view);
  const { reason } = run.stop ?? {};
  if (reason === "ProbeFailed" || reason === "Evicted" || reason === "DeadlineExceeded") return reason;
  if (run.stop?.reason === "NodeShutdown") return "NodeRebooted";
  if (run.stop && run.stop.reason !== "ScriptFailed") return "Stopped";
  if (kills > 0 && wasKilled(view)) return "OOMKilled";
  // Nobody was left to see its end, or it ended because the shutdown sent it SIGTERM.
  if (view.rebooted && (!end || view.exit?.terminated)) return "NodeRebooted";
  if (!end) return "Lost";
  return end.code === 0 ? "Completed" : "Error";
}

function exitMessage(run: Run, view: RunView, reason: Reason, tail: string): string {
  if (reason === "Completed" || reason === "Stopped") return "";
  if (reason === "NodeRebooted") return "the node went down while the app was running";
  if (reason === "Lost") return joinLines("exit status unknown: the launcher was killed", tail);
  if (run.stop?.message) return joinLines(run.stop.message, tail);
  return view.exit ? tail : "";
}

function joinLines(first: string, rest: string): string {
  return [first, rest].filter(Boolean).join("\n");
}
