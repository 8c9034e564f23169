/**
 * Brings the supervisor to what the sources want: after every change at once, and every sync period whatever happened.
 */
import type { Logger } from "../lib/log.ts";
import type { SourceProblem } from "../sources/source.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { createDesiredState, type DesiredState, type Union } from "./desired-state.ts";
import { type ObservedApp, plan, shareSameApps } from "./plan.ts";

export interface Sync {
  desired: DesiredState;
  /** Compares and acts now. Returns what is wanted. */
  reconcile(): Union;
  problems(): SourceProblem[];
  /** When the last comparison was made. */
  lastSync(): number | undefined;
}

export interface SyncOptions {
  /** Names of the sources, the one that wins first. */
  order: string[];
  supervisor: Supervisor;
  log: Logger;
  maxApps?: number;
  now?: () => number;
}

/** Unites the sources and keeps the supervisor up to date with them. */
export function createSync({ order, supervisor, log, maxApps, now = Date.now }: SyncOptions): Sync {
  let lastSync: number | undefined;
  let reported = "";

  const reconcile = (): Union => {
    const union = desired.union();
    const observed = observe(supervisor);
    shareSameApps(union, observed);
    for (const action of plan(union, observed, { maxApps })) {
      if (action.kind === "withdraw") supervisor.withdraw(action.key);
      else supervisor.assign(action.desired);
    }
    lastSync = now();
    const said = JSON.stringify(union.problems);
    if (said !== reported) { for (const { message } of union.problems) log.warn(message); }
    reported = said;
    return union;
  };

  /** Changes that come together, such as the files of a folder, are compared once. */
  let scheduled = false;
  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      try {
        reconcile();
      } catch (error) {
        log.error("a sync failed", { error });
      }
    });
  };

  const desired = createDesiredState(order, schedule);
  return { desired, reconcile, problems: () => desired.union().problems, lastSync: () => lastSync };
}

function observe(supervisor: Supervisor): ObservedApp[] {
  return supervisor.list().map(({ key, record }) => ({
    key,
    uid: record.app.metadata.uid ?? "",
    source: record.source,
    app: record.app,
    withdrawn: record.withdrawn === true,
    invalid: record.invalid,
  }));
}
