/**
 * What one file or URL of manifests wants: what is good in it, and for what is broken the version that was good last.
 */
import { createHash } from "node:crypto";
import { formatProblem, parseManifests } from "../api/manifest/manifest.ts";
import { keyOf } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import type { DesiredApp, SourceProblem } from "./source.ts";

export interface ManifestReading {
  apps: NCApp[];
  problems: SourceProblem[];
  /** Apps that broken objects are called by. */
  broken: Set<string>;
  /** Something could not be read at all, so that it may have been any app. */
  unreadable: boolean;
  /** How many objects are of other kinds, such as a Namespace beside its apps: none of ours, so no trouble. */
  skipped: number;
}

/** Reads a text; `baseDir` is where paths that begin with `./` are taken from. */
export function readManifests(text: string, origin: string, baseDir?: string): ManifestReading {
  // Somebody may be about to write it, or had no room to: to remove apps, remove the file or list what stays.
  if (!/^[^\S\n]*[^\s#]/m.test(text.replaceAll(/^(---|\.\.\.)/gm, ""))) {
    return unreadable(`${origin}: holds no manifest`, origin);
  }
  const { apps, problems, skipped } = parseManifests(text, origin, { baseDir });
  return {
    apps: apps.map(({ app }) => app),
    problems: problems.map((problem) => ({ message: formatProblem(problem), field: problem.field, origin })),
    broken: new Set(problems.flatMap(({ app }) => app ?? [])),
    unreadable: problems.some(({ app }) => app === undefined),
    skipped: skipped.length,
  };
}

/** The reading of something that cannot be read. */
export function unreadable(message: string, origin: string): ManifestReading {
  return { apps: [], problems: [{ message, origin }], broken: new Set(), unreadable: true, skipped: 0 };
}

/** The apps that are wanted now, with the last good version of what is broken. */
export function mergeWithLastGood({ apps, broken, unreadable }: ManifestReading, lastGood: NCApp[]): NCApp[] {
  const fresh = new Set(apps.map(keyOf));
  const kept = lastGood.filter((app) => !fresh.has(keyOf(app)) && (broken.has(keyOf(app)) || unreadable));
  return [...apps, ...kept];
}

/** What to say beside what was read, of the objects that were passed over; empty for none. */
export function tellSkipped(count: number): string {
  return count === 0 ? "" : `, ${count} ${count === 1 ? "object" : "objects"} of other kinds passed over`;
}

/** Local apps have no API server to give them a uid: name and place make one that stays the same over restarts. */
export function localApp(app: NCApp, source: string, origin: string): DesiredApp {
  const uid = createHash("sha256").update(`${source}\0${origin}\0${keyOf(app)}`).digest("hex").slice(0, 32);
  return { app: { ...app, metadata: { ...app.metadata, uid } }, source, origin };
}
