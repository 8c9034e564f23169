/** Describes how a run ended: the code, the signal behind it, and the reason. */
import { constants } from "node:os";
import { parsePercent } from "../../api/percent.ts";
import { isoSeconds } from "../../lib/time.ts";
import type { LastExit, Run, RunnableApp, RunView } from "../types.ts";

export interface ExitContext {
  app: RunnableApp;
  now: number;
  /** The last lines of the log, which the message of a failure ends with. */
  tail: string;
}

export function describeExit(run: Run, view: RunView, { app, now, tail }: ExitContext): LastExit {
  const code = view.exit?.code;
  const reason = exitReason(run, view);
  return {
    ...(code === undefined ? {} : { code }),
    ...(code !== undefined && isSignalled(code) ? { signal: signalName(code - 128) } : {}),
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

/** What the kernel did, with the cap that the user may want to raise. */
export function outOfMemory({ spec }: RunnableApp): string {
  const memPCT = parsePercent(spec.memPCT);
  return `the kernel killed it: out of memory (${memPCT === undefined ? "no memPCT" : `memPCT ${memPCT}`})`;
}

/** Reports whether a run completed: exit status 0, and nothing had to be killed. */
export function isSuccess(exit: LastExit): boolean {
  return exit.reason === "Completed";
}

export function signalName(number: number): string {
  for (const [name, value] of Object.entries(constants.signals)) if (value === number) return name;
  return `SIG${number}`;
}

/** A shell reports a signal as its number plus 128. The highest signal is 64; a status above that is the script's own. */
function isSignalled(code: number): boolean {
  return code > 128 && code <= 128 + 64;
}

function exitReason(run: Run, view: RunView): string {
  const daemonized = hasDaemonized(run, view);
  if (run.stop?.reason === "ProbeFailed" || run.stop?.reason === "Evicted") return run.stop.reason;
  if (view.oomKills > 0 && (view.exit?.code !== 0 || daemonized)) return "OOMKilled";
  if (run.stop && run.stop.reason !== "ScriptFailed") return "Stopped";
  // The script had exited with 0, but its daemon was meant to live on.
  if (daemonized && view.rebooted) return "NodeRebooted";
  if (view.exit === undefined) return view.rebooted ? "NodeRebooted" : "Lost";
  return view.exit.code === 0 ? "Completed" : "Error";
}

function exitMessage(run: Run, view: RunView, reason: string, tail: string): string {
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
