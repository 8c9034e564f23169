/**
 * What the operator of a node orders with `nckubelet stop`, `start`, `restart`, `trigger` and `undo`, merged into the record of an app. Pure.
 *
 * Orders change no desired state: the spec belongs to its source. A stop is part of the record, so that it outlives agents and
 * edits of the spec, until a start. The others are done once: a restart is noted with the run that it ends.
 */
import { annotations, defaultNamespace, keyOf } from "../../api/names.ts";
import { isoSeconds } from "../../lib/time.ts";
import { scheduleOf } from "./due-runs.ts";
import { noWait } from "./retry.ts";
import { undo, undoTarget } from "./rollback.ts";
import { wantedApp } from "./versions.ts";
import type { AppRecord, RunnableApp } from "../types.ts";

/** `trigger` runs an app with a schedule now. */
export type Order = "stop" | "start" | "restart" | "trigger" | "undo";

/** Returns the record with the order; the same record if there is nothing to do. */
export function mergeOrder(record: AppRecord, order: Order, now: number): AppRecord {
  if (record.hold !== undefined || record.withdrawn) return record;
  switch (order) {
    case "stop":
      return record.stoppedAt === undefined ? { ...record, stoppedAt: now } : record;
    case "start":
      return startNow(record);
    case "restart": {
      const next = startNow(record);
      // A run whose script has not started yet is new enough.
      return next.run?.startedAt === undefined ? next : { ...next, run: { ...next.run, restart: true } };
    }
    case "undo":
      return undo(record, now, `undone by the operator at ${isoSeconds(now)}, until its content changes`);
    case "trigger":
      return { ...record, retryAt: undefined, scheduled: dueAt(record, now) };
  }
}

/** Carries out an undo that the app asks for by an annotation, once for each value of it. `before` is the record before the edit. */
export function mergeUndoRequest(before: AppRecord, record: AppRecord, now: number): AppRecord {
  const [old, request] = [before, record].map((each) =>
    wantedApp(each).metadata.annotations?.[annotations.undoneAt]
  );
  const isNew = request !== undefined && request !== old;
  return isNew && refuseOrder(record, "undo") === undefined ? mergeOrder(record, "undo", now) : record;
}

/** Why the order cannot be carried out; undefined if it can. The message says what to do. */
export function refuseOrder(record: AppRecord, order: Order): string | undefined {
  const { app, hold, withdrawn, run, stoppedAt } = record;
  const key = keyOf(app);
  if (hold !== undefined) return `${key} is on hold: ${hold}`;
  if (withdrawn || app.metadata.deletionTimestamp) return `${key} is being deleted`;
  if (order === "stop") return undefined;
  if (order === "undo") {
    if (app.metadata.annotations?.[annotations.written] !== undefined) {
      return `${key} belongs to a set: 'kubectl ncapp rollout undo' takes the set`;
    }
    return undoTarget(record)
      ? undefined
      : `${key} has no other version that was good: there is nothing to undo`;
  }
  if (order === "trigger") {
    const { schedule, concurrencyPolicy } = app.spec;
    if (!schedule) return `${key} has no schedule: 'nckubelet restart ${wordFor(app)}' runs it again`;
    if (stoppedAt !== undefined || app.spec.suspend) {
      return `${key} is stopped: 'nckubelet start ${wordFor(app)}' comes first`;
    }
    if (run && concurrencyPolicy === "Forbid") {
      return `${key} is running, and its concurrencyPolicy Forbid allows one run at a time`;
    }
  }
  return undefined;
}

/** What users read about an app that the operator has stopped. */
export function stoppedMessage({ app, stoppedAt = 0 }: AppRecord): string {
  return `stopped with 'nckubelet stop' at ${isoSeconds(stoppedAt)}; 'nckubelet start ${
    wordFor(app)
  }' starts it again`;
}

/** An app that rests starts now: without its backoff, and even if it has ended for good. */
function startNow(record: AppRecord): AppRecord {
  const wanted = { ...record, stoppedAt: undefined };
  if (record.run) return record.stoppedAt === undefined ? record : wanted;
  const hasEnded = record.phase === "Succeeded" || record.phase === "Failed";
  return {
    ...wanted,
    ...noWait,
    ...(hasEnded ? { phase: "Pending", reason: "", message: "" } : {}),
  };
}

function dueAt({ app, scheduled }: AppRecord, now: number): AppRecord["scheduled"] {
  return { schedule: scheduleOf(app), lastRun: scheduled?.lastRun, nextRun: now };
}

/** The app as users type it in a command. */
function wordFor(app: RunnableApp): string {
  return app.metadata.namespace === defaultNamespace ? app.metadata.name : keyOf(app);
}
