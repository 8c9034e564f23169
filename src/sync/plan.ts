/**
 * Plans what has to change so that the node runs what is desired. Pure.
 *
 * Nothing is stopped on doubt: an app is withdrawn only if its own source has delivered a complete list without it to this agent (or
 * reported its deletion, which takes it off that list). An app of a source that this agent no longer follows keeps running until another
 * source or a user takes it over.
 */
import type { Desired, RunnableApp } from "../api/app-shapes.ts";
import type { SupervisedApp } from "../supervisor/supervisor.ts";
import { wantedApp } from "../supervisor/decide/decide.ts";
import type { AppRecord } from "../supervisor/types.ts";
import type { Union } from "./desired-state.ts";

export type Action =
  | { kind: "assign"; key: string; desired: Desired }
  | { kind: "withdraw"; key: string };

/** Lets a desired app and an equal observed one share an object: it is stored once, and the next comparison costs nothing. */
export function shareSameApps({ apps }: Union, observed: SupervisedApp[]): void {
  for (const { key, record } of observed) {
    const app = wantedApp(record);
    const desired = apps.get(key);
    if (desired && isSameApp(desired.app, app)) desired.app = app;
  }
}

export function plan(union: Union, observed: SupervisedApp[], { maxApps = Infinity } = {}): Action[] {
  const known = new Map(observed.map(({ key, record }) => [key, record]));
  const leftOut = new Set(findLeftOut(union, observed, { maxApps }));
  const assigned = [...union.apps].filter(([key, desired]) =>
    !leftOut.has(key) && differs(desired, known.get(key), union)
  );
  const fresh = assigned.filter(([key]) => !known.has(key));
  const updated = assigned.filter(([key]) => known.has(key));
  const gone = observed.filter((app) => isGone(app, union));
  return [
    ...gone.map(({ key }): Action => ({ kind: "withdraw", key })),
    ...[...updated, ...fresh].map(([key, desired]): Action => ({ kind: "assign", key, desired })),
  ];
}

/**
 * Returns the keys of desired apps beyond the node's maximum; they are not assigned until others are gone. An app that is being deleted
 * does not start: it is assigned, so that its end is reported.
 */
export function findLeftOut(
  { apps }: Union,
  observed: SupervisedApp[],
  { maxApps = Infinity } = {},
): string[] {
  const known = new Set(observed.map(({ key }) => key));
  const capacity = Math.max(0, maxApps - known.size);
  return [...apps].filter(([key, { app }]) => !known.has(key) && !app.metadata.deletionTimestamp)
    .map(([key]) => key).slice(capacity);
}

/** Returns the apps whose source was removed from the agent's settings. */
export function findOrphans({ apps, sources }: Union, observed: SupervisedApp[]): SupervisedApp[] {
  return observed.filter(({ key, record: { source, withdrawn } }) =>
    !sources.has(source) && !withdrawn && !apps.has(key)
  );
}

function differs(
  desired: Desired,
  known: AppRecord | undefined,
  { sources, complete }: Union,
): boolean {
  if (!known || known.withdrawn) return true;
  // The app's own source may still want it, and has not been listed yet.
  const isUnlisted = sources.has(known.source) && !complete.has(known.source);
  if (known.source !== desired.source && isUnlisted) return false;
  const isOther = known.app.metadata.uid !== desired.app.metadata.uid;
  if (isOther || known.source !== desired.source) return true;
  if (known.heldBy !== desired.heldBy) return true;
  const invalid = known.invalid ?? known.invalidEdit;
  if (desired.invalid) {
    // The app keeps its valid spec; its status has to report the new one and what is wrong with it.
    return invalid !== desired.invalid ||
      known.app.metadata.generation !== desired.app.metadata.generation ||
      known.app.metadata.deletionTimestamp !== desired.app.metadata.deletionTimestamp;
  }
  // An older agent may have rejected what this one accepts.
  return invalid !== undefined || !isSameApp(desired.app, wantedApp(known));
}

function isSameApp(a: RunnableApp, b: RunnableApp): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function isGone({ key, record }: SupervisedApp, { apps, complete }: Union): boolean {
  return !apps.has(key) && !record.withdrawn && complete.has(record.source);
}
