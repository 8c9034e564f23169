/** The time that a run may take, by `activeDeadlineSeconds`. Pure. */
import { runsOf } from "../run-ref.ts";
import type { Decision, Situation } from "./situation.ts";
import { beginStop, secondMs } from "./transitions.ts";
import type { AppRecord, Run } from "../types.ts";

/** When a run must have ended; undefined without a deadline, and for a script that has not started yet. */
export function deadlineOf({ app }: AppRecord, { startedAt }: Run): number | undefined {
  const { activeDeadlineSeconds } = app.spec;
  if (activeDeadlineSeconds === undefined || startedAt === undefined) return undefined;
  return startedAt + activeDeadlineSeconds * secondMs;
}

/** The run, of those that live, whose deadline is over. */
export function overdueRun(record: AppRecord, now: number): Run | undefined {
  return runsOf(record).find((run) => now >= (deadlineOf(record, run) ?? Infinity));
}

/** Stops one run that has taken too long. Under `concurrencyPolicy: Allow` the others live on, and one of them comes after it. */
export function stopOverdueRun(record: AppRecord, overdue: Run, situation: Situation): Decision {
  const others = runsOf(record).filter(({ id }) => id !== overdue.id);
  const next = { ...record, others: others.length > 0 ? others : undefined };
  const message = `activeDeadlineSeconds is ${record.app.spec.activeDeadlineSeconds}`;
  return beginStop(next, overdue, { reason: "DeadlineExceeded", message }, situation);
}
