/** Brings the supervisor in line with the sources: at once after every change, and in every sync period. */
import { defaultNamespace, splitAppKey } from "../api/names.ts";
import type { Logger } from "../lib/log.ts";
import type { SourceProblem } from "../sources/source.ts";
import type { SupervisedApp, Supervisor } from "../supervisor/supervisor.ts";
import { describePortConflict, findPortConflicts } from "./port-conflicts.ts";
import { createDesiredState, type DesiredState, type Union } from "./desired-state.ts";
import { findLeftOut, findOrphans, plan, shareSameApps } from "./plan.ts";

export interface Sync {
  desired: DesiredState;
  /** Compares and acts now. Returns what is desired. */
  reconcile(): Union;
  /** Problems of the sources, apps without a source, and apps beyond the node's maximum. */
  problems(): SourceProblem[];
  /** Apps whose source is no longer followed. */
  orphans(): SupervisedApp[];
  /** When the last comparison was made, in milliseconds since 1970. */
  lastSync(): number | undefined;
}

export interface SyncOptions {
  /** Names of the sources, highest precedence first. */
  order: string[];
  supervisor: Supervisor;
  log: Logger;
  maxApps?: number;
  now?: () => number;
}

export function createSync({ order, supervisor, log, maxApps, now = Date.now }: SyncOptions): Sync {
  let lastSync: number | undefined;
  let reported = new Set<string>();

  const reconcile = (): Union => {
    const union = desired.union();
    const observed = supervisor.list();
    shareSameApps(union, observed);
    for (const action of plan(union, observed, { maxApps })) {
      if (action.kind === "withdraw") supervisor.withdraw(action.key);
      else supervisor.assign(action.desired);
    }
    if (supervisor.hasLost && isCertain(union, observed)) {
      supervisor.removeLost([...union.apps.values()].map(({ app }) => app));
    }
    lastSync = now();
    const messages = new Set(problemsOf(union, observed, maxApps).map(({ message }) => message));
    for (const message of messages) {
      if (!reported.has(message)) log.warn(message);
    }
    reported = messages;
    return union;
  };

  /** Changes that arrive together, such as the files of a folder, are compared once. */
  let scheduled = false;
  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      try {
        reconcile();
      } catch (error) {
        log.error("sync failed", { error });
      }
    });
  };

  const desired = createDesiredState(order, schedule);
  return {
    desired,
    reconcile,
    problems: () => problemsOf(desired.union(), supervisor.list(), maxApps),
    orphans: () => findOrphans(desired.union(), supervisor.list()),
    lastSync: () => lastSync,
  };
}

/** Reports whether every source has delivered a complete list without problems, and no app is an orphan. */
function isCertain(union: Union, observed: SupervisedApp[]): boolean {
  const { sources, complete, problems } = union;
  const isComplete = [...sources].every((source) => complete.has(source));
  return isComplete && problems.length === 0 && findOrphans(union, observed).length === 0;
}

function problemsOf(union: Union, observed: SupervisedApp[], maxApps: number | undefined): SourceProblem[] {
  const orphans = findOrphans(union, observed).map(({ key, record }) => ({
    message:
      `${key} came from ${record.source}, which this agent no longer follows: it keeps running until ` +
      `\`nckubelet delete ${nameFor(key)}\``,
  }));
  const leftOut = findLeftOut(union, observed, { maxApps }).map((key) => ({
    message:
      `${key} is not started: this node already has ${maxApps} apps, the most it may have (--max-apps)`,
  }));
  const ports = findPortConflicts([...union.apps].map(([key, { app }]) => [key, app]))
    .map((conflict) => ({ message: describePortConflict(conflict) }));
  return [...union.problems, ...orphans, ...leftOut, ...ports];
}

/** Returns the arguments that name the app in a command. */
function nameFor(key: string): string {
  const { namespace, name } = splitAppKey(key);
  return namespace === defaultNamespace ? name : `-n ${namespace} ${name}`;
}
