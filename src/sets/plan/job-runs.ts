/**
 * How the apps of a job do. An app stands for one completion; it may run several times, one after the other, until it completes.
 *
 * An app that has ended is suspended by the set, with a note of how it ended: then no agent starts it, wherever it is bound and
 * whatever agents have forgotten. What is not known to have stopped counts as active, above all on lost nodes.
 */
import { readRunNote, retryOf, type RunNote } from "../../api/run-note.ts";
import type { App, AppSet, Node, World } from "../types.ts";
import { hasReportedRestart, isObserved } from "./health.ts";
import { appName, isPinned, ordinalOf } from "./names.ts";

/** `idle`: it does not run, and may start. `failed`: it does not run, and may start at `retryAt`, or not at all. */
export type RunState = "completed" | "failed" | "active" | "idle";

export interface JobRun {
  app: App;
  node?: Node;
  state: RunState;
  /** Its agent has reported the end, and the app has no note of it. */
  isUnnoted: boolean;
  /** Failed runs since the last retry. */
  failures: number;
  /** Its failures belong to the time before the last retry. */
  isRetried: boolean;
  /** It has failed more often than `backoffLimitPerIndex`. */
  isExhausted: boolean;
  retryAt: number;
  note: RunNote;
}

/** Returns the apps of a job in the order of their numbers or names. */
export function findRuns({ set, nodes, now }: World, own: readonly App[]): JobRun[] {
  const pinned = isPinned(set.spec);
  const byApp = new Map<string, Node>();
  for (const node of pinned ? nodes.values() : []) byApp.set(appName(set.metadata.name, node.name), node);
  const keyed = own.map((app) => {
    const { name } = app.metadata;
    const node = pinned ? byApp.get(name) : nodes.get(app.spec.nodeName ?? "");
    return {
      name,
      ordinal: pinned ? 0 : ordinalOf(set.metadata.name, name) ?? 0,
      run: runOf(app, node, set, now),
    };
  });
  keyed.sort((a, b) => a.ordinal - b.ordinal || (a.name < b.name ? -1 : 1));
  return keyed.map(({ run }) => run);
}

function runOf(app: App, node: Node | undefined, set: AppSet, now: number): JobRun {
  const { spec, status = {}, metadata } = app;
  const note = readRunNote(app);
  // Each start has its own restart. What its agent reports about that is true for good, also if it has not seen a later suspend.
  const isReported = hasReportedRestart(app);
  const phase = isReported ? status.phase : undefined;
  const hasCompleted = note.completedAt !== undefined || phase === "Succeeded";
  // A retry forgets the failures before it, also those that are seen only now.
  const isRetried = note.retry !== retryOf(set);
  const isNoted = note.failedAt !== undefined;
  const restarts = isReported && !isNoted ? Math.max(0, (status.restarts ?? 0) - note.restarts) : 0;
  const hasJustFailed = !isNoted && (phase === "Failed" || phase === "BackOff");
  const failures = isRetried ? 0 : note.failures + restarts + (hasJustFailed ? 1 : 0);
  const { backoffLimitPerIndex = Infinity } = set.spec.job ?? {};
  const isExhausted = !hasCompleted && failures > backoffLimitPerIndex;

  const state = (): RunState => {
    if (hasCompleted) return "completed";
    if (!hasStopped(app, phase)) return "active";
    if (phase === "Failed" && !isNoted || isNoted && !isRetried) return "failed";
    return spec.suspend ? "idle" : "active";
  };
  const { backoffSeconds = 10, maxBackoffSeconds = 300 } = spec;
  const waitMs = Math.min(backoffSeconds * 2 ** Math.min(Math.max(0, failures - 1), 30), maxBackoffSeconds) *
    1000;
  const failedAt = Math.min(now, Date.parse(note.failedAt ?? "") || now);
  return {
    app,
    node,
    state: state(),
    isUnnoted: metadata.deletionTimestamp === undefined &&
      (hasCompleted ? note.completedAt === undefined : !isNoted && (phase === "Failed" || isExhausted)),
    failures,
    isRetried,
    isExhausted,
    retryAt: failedAt + waitMs,
    note,
  };
}

/** Reports whether no process of the app lives, as far as an agent has said so. */
function hasStopped(app: App, phase: string | undefined): boolean {
  const { spec, status = {} } = app;
  if (!spec.nodeName && !status.nodeName) return true;
  // It may be about to start if it has not seen that it is suspended.
  if (phase === "Pending") {
    return spec.suspend === true && isObserved(app) && status.reason !== "StillStopping";
  }
  return phase === "Succeeded" || phase === "Failed" || phase === "Stopped";
}
