/**
 * What has to be done so that the node runs what is wanted. Pure: most of what can go wrong is tested here.
 *
 * Nothing is stopped on doubt: an app is given up only if its own source, in this agent's life, has delivered a complete list
 * without it (or said that it was deleted, which takes it off that list). An app of a source that this agent does not follow any more
 * runs on until another source or a person takes it over.
 */
import type { Desired } from "../supervisor/runner/runner.ts";
import type { RunnableApp } from "../supervisor/types.ts";
import type { Union } from "./desired-state.ts";

/** An app as the supervisor has it. */
export interface ObservedApp {
  key: string;
  uid: string;
  source: string;
  app: RunnableApp;
  withdrawn: boolean;
  /** What is known to be wrong with the spec that its source has. */
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

/** The keys of apps that are wanted, but one too many for this node: they are not taken until others have gone. */
export function findLeftOut({ apps }: Union, observed: ObservedApp[], { maxApps = Infinity } = {}): string[] {
  const known = new Set(observed.map(({ key }) => key));
  const room = Math.max(0, maxApps - known.size);
  return [...apps.keys()].filter((key) => !known.has(key)).slice(room);
}

/** Apps that nobody speaks for: their source was taken out of the agent's settings. */
export function findOrphans({ apps, sources }: Union, observed: ObservedApp[]): ObservedApp[] {
  return observed.filter(({ key, source, withdrawn }) =>
    !sources.has(source) && !withdrawn && !apps.has(key)
  );
}

function differs(
  desired: Desired,
  known: ObservedApp | undefined,
  { sources, complete }: Union,
): boolean {
  if (!known || known.withdrawn) return true;
  // The source that it came from may still want it, and has not been heard yet.
  const isUnheard = sources.has(known.source) && !complete.has(known.source);
  if (known.source !== desired.source && isUnheard) return false;
  if (known.uid !== desired.app.metadata.uid || known.source !== desired.source) return true;
  if (desired.invalid) {
    // The app keeps the spec that makes sense; that there is another one, and what is wrong with it, it has to tell.
    return known.invalid !== desired.invalid ||
      known.app.metadata.generation !== desired.app.metadata.generation;
  }
  // What an older agent could not read, this one can.
  return known.invalid !== undefined || !isSameApp(desired.app, known.app);
}

function isSameApp(one: RunnableApp, other: RunnableApp): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function isGone(app: ObservedApp, { apps, complete }: Union): boolean {
  return !apps.has(app.key) && !app.withdrawn && complete.has(app.source);
}
