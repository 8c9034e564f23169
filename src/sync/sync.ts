/**
 * Brings the supervisor to what the sources want: after every change at once, and every sync period whatever happened.
 */
import { defaultNamespace } from "../api/names.ts";
import type { Logger } from "../lib/log.ts";
import type { SourceProblem } from "../sources/source.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { createDesiredState, type DesiredState, type Union } from "./desired-state.ts";
import { findLeftOut, findOrphans, type ObservedApp, plan, shareSameApps } from "./plan.ts";

export interface Sync {
  desired: DesiredState;
  /** Compares and acts now. Returns what is wanted. */
  reconcile(): Union;
  /** What is wrong with the sources, which apps have none any more, and which are too many for the node. */
  problems(): SourceProblem[];
  /** Apps whose source is not followed any more. */
  orphans(): ObservedApp[];
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
    if (supervisor.hasLost && isCertain(union, observed)) {
      supervisor.removeLost([...union.apps.values()].map(({ app }) => app));
    }
    lastSync = now();
    const problems = problemsOf(union, observed, maxApps);
    const said = JSON.stringify(problems);
    if (said !== reported) { for (const { message } of problems) log.warn(message); }
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
  return {
    desired,
    reconcile,
    problems: () => problemsOf(desired.union(), observe(supervisor), maxApps),
    orphans: () => findOrphans(desired.union(), observe(supervisor)),
    lastSync: () => lastSync,
  };
}

/**
 * Whether every source has said all that it wants, and none of it could not be read; nor is there a source that was followed before and
 * may want more.
 */
function isCertain(union: Union, observed: ObservedApp[]): boolean {
  const { sources, complete, problems } = union;
  const isComplete = [...sources].every((source) => complete.has(source));
  return isComplete && problems.length === 0 && findOrphans(union, observed).length === 0;
}

function problemsOf(union: Union, observed: ObservedApp[], maxApps: number | undefined): SourceProblem[] {
  const orphans = findOrphans(union, observed).map(({ key, source }) => ({
    message: `${key} came from ${source}, which this agent does not follow any more: it runs on until ` +
      `\`nckubelet delete ${nameFor(key)}\``,
  }));
  const leftOut = findLeftOut(union, observed, { maxApps }).map((key) => ({
    message: `${key} is not taken: this node has ${maxApps} apps, as many as it may (--max-apps)`,
  }));
  return [...union.problems, ...orphans, ...leftOut];
}

/** As the commands take it. */
function nameFor(key: string): string {
  const [namespace, name] = key.split("/");
  return namespace === defaultNamespace ? `${name}` : `-n ${namespace} ${name}`;
}

function observe(supervisor: Supervisor): ObservedApp[] {
  return supervisor.list().map(({ key, record }) => ({
    key,
    uid: record.app.metadata.uid ?? "",
    source: record.source,
    app: record.app,
    withdrawn: record.withdrawn === true,
    invalid: record.invalid ?? record.invalidEdit,
  }));
}
