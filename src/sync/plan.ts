/**
 * What has to be done so that the node runs what is wanted. Pure: most of what can go wrong is tested here.
 *
 * Nothing is stopped on doubt: an app is given up only if its own source, in this agent's life, has delivered a complete list
 * without it (or said that it was deleted, which takes it off that list).
 */
import type { Desired } from "../supervisor/runner.ts";
import type { RunnableApp } from "../supervisor/types.ts";
import type { Union } from "./desired-state.ts";

/** An app as the supervisor has it. */
export interface ObservedApp {
  key: string;
  uid: string;
  source: string;
  app: RunnableApp;
  withdrawn: boolean;
  invalid?: string;
}

export type Action =
  | { kind: "assign"; key: string; desired: Desired }
  | { kind: "withdraw"; key: string };

/**
 * Where an app is wanted just as it is known, lets both be one object: so it is kept once, and the next comparison costs nothing.
 */
export function shareSameApps({ apps }: Union, observed: ObservedApp[]): void {
  for (const { key, app } of observed) {
    const desired = apps.get(key);
    if (desired && isSameApp(desired.app, app)) desired.app = app;
  }
}

/** Compares what is wanted with what is known. */
export function plan(union: Union, observed: ObservedApp[], { maxApps = Infinity } = {}): Action[] {
  const known = new Map(observed.map((app) => [app.key, app]));
  const assigned = [...union.apps].filter(([key, desired]) =>
    differs(desired, known.get(key), union.complete)
  );
  const room = Math.max(0, maxApps - known.size);
  const fresh = assigned.filter(([key]) => !known.has(key)).slice(0, room);
  const updated = assigned.filter(([key]) => known.has(key));
  const gone = observed.filter((app) => isGone(app, union));
  return [
    ...gone.map(({ key }): Action => ({ kind: "withdraw", key })),
    ...[...updated, ...fresh].map(([key, desired]): Action => ({ kind: "assign", key, desired })),
  ];
}

function differs(desired: Desired, known: ObservedApp | undefined, complete: Set<string>): boolean {
  if (!known || known.withdrawn) return true;
  // The source that it came from may still want it, and has not been heard yet.
  if (known.source !== desired.source && !complete.has(known.source)) return false;
  if (known.uid !== desired.app.metadata.uid || known.source !== desired.source) return true;
  // A spec that makes no sense is no reason to touch what makes some.
  if (desired.invalid) return known.invalid !== undefined && known.invalid !== desired.invalid;
  return !isSameApp(desired.app, known.app);
}

function isSameApp(one: RunnableApp, other: RunnableApp): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function isGone(app: ObservedApp, { apps, complete }: Union): boolean {
  return !apps.has(app.key) && !app.withdrawn && complete.has(app.source);
}
