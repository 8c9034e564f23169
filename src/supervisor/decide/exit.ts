/** Describes how a run ended: the code, the signal behind it, and the reason. */
import { constants } from "node:os";
import { parsePercent } from "../../api/percent.ts";
import type { Reason } from "../../api/reasons.ts";
import { isoSeconds } from "../../lib/time.ts";
import type { AppRecord, LastExit, Run, RunnableApp, RunView } from "../types.ts";

export interface ExitContext {
  app: RunnableApp;
  now: number;
  /** Out-of-memory kills that may have ended the run. */
  kills: number;
  /** The last lines of the log, which the message of a failure ends with. */
  tail: string;
}

export function describeExit(run: Run, view: RunView, { app, now, kills, tail }: ExitContext): LastExit {
  const { code, signal } = view.exit ?? {};
  const reason = exitReason(run, view, kills);
  return {
    ...(code === undefined ? {} : { code }),
    ...(signal ? { signal: signalName(signal) } : {}),
    reason,
    startedAt: isoSeconds(run.startedAt ?? run.createdAt),
    finishedAt: isoSeconds(endOf(run, view, now)),
    message: reason === "OOMKilled"
      ? joinLines(outOfMemory(app), tail)
      : exitMessage(run, view, reason, tail),
  };
}

/** When a run ended. If its script daemonized, that is when the last process was seen gone. */
export function endOf(run: Run, view: RunView, now: number): number {
  return hasDaemonized(run, view) ? now : view.exit?.at ?? now;
}

/** Reports whether SIGKILL ended the script, as far as is known: any other status is the script's own. */
export function wasKilled({ exit }: RunView): boolean {
  return exit === undefined || exit.signal === constants.signals.SIGKILL;
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

export type EndedRecord = AppRecord & { lastExit: LastExit };

/** The record with how a run ended and, if it completed, when. */
export function withLastExit(record: AppRecord, lastExit: LastExit): EndedRecord {
  return { ...record, lastExit, ...(isSuccess(lastExit) ? { lastSuccess: lastExit.finishedAt } : {}) };
}

export function signalName(number: number): string {
  for (const [name, value] of Object.entries(constants.signals)) if (value === number) return name;
  return `SIG${number}`;
}

function exitReason(run: Run, view: RunView, kills: number): Reason {
  const daemonized = hasDaemonized(run, view);
  if (run.stop?.reason === "ProbeFailed" || run.stop?.reason === "Evicted") return run.stop.reason;
  if (run.stop?.reason === "NodeShutdown") return "NodeRebooted";
  if (run.stop && run.stop.reason !== "ScriptFailed") return "Stopped";
  if (kills > 0 && (wasKilled(view) || daemonized)) return "OOMKilled";
  // The script had exited with 0, but its daemon was meant to live on. Or it exited because the shutdown sent it SIGTERM.
  if (view.rebooted && (daemonized || view.exit?.terminated)) return "NodeRebooted";
  if (view.exit === undefined) return view.rebooted ? "NodeRebooted" : "Lost";
  return view.exit.code === 0 ? "Completed" : "Error";
}

function exitMessage(run: Run, view: RunView, reason: Reason, tail: string): string {
  if (reason === "Completed" || reason === "Stopped") return "";
  if (reason === "NodeRebooted") return "the node went down while the app was running";
  if (reason === "Lost") return joinLines("exit status unknown: the launcher was killed", tail);
  if (run.stop?.message) return joinLines(run.stop.message, tail);
  return view.exit ? tail : "";
}

function joinLines(first: string, rest: string): string {
  return rest ? `${first}\n${rest}` : first;
}

/** Reports whether the script exited with 0 while others lived on. The record keeps that, since another agent may have seen it. */
function hasDaemonized({ survivor }: Run, { exit }: RunView): boolean {
  return exit?.code === 0 && survivor !== undefined;
}
