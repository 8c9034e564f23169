/** What one file or URL of manifests wants: its valid objects, and the last valid version of the broken ones. */
import { createHash } from "node:crypto";
import { formatProblem, parseManifests } from "../api/manifest/manifest.ts";
import { keyOf } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import type { Desired } from "../api/app-shapes.ts";
import { joinProblems, type SourceProblem } from "./source.ts";

export interface ManifestReading {
  apps: NCApp[];
  problems: SourceProblem[];
  /** Keys of the broken objects. */
  broken: Set<string>;
  /** Something has no readable name: it may be any app. */
  unreadable: boolean;
  /** How many objects are of other kinds, such as a Namespace beside its apps: not a problem. */
  skipped: number;
}

/** Reads a text; paths that begin with `./` are relative to `baseDir`. */
export function readManifests(text: string, origin: string, baseDir?: string): ManifestReading {
  // An empty text removes nothing: an editor may be about to write it, or the disk was full. Deleting the file removes its apps.
  if (!/^[^\S\n]*[^\s#]/m.test(text.replaceAll(/^(---|\.\.\.)/gm, ""))) {
    return broken(`${origin}: contains no manifest`, origin);
  }
  const { apps, problems, skipped } = parseManifests(text, origin, { baseDir });
  return {
    apps,
    problems: problems.map((problem) => ({
      message: formatProblem(problem),
      field: problem.field,
      origin,
      app: problem.app ?? "",
    })),
    broken: new Set(problems.flatMap(({ app }) => app ?? [])),
    unreadable: problems.some(({ app }) => app === undefined),
    skipped: skipped.length,
  };
}

/** A file that could not be read: nothing is known about its apps. */
export function unreadable(message: string, origin: string): ManifestReading {
  return { apps: [], problems: [{ message, origin }], broken: new Set(), unreadable: true, skipped: 0 };
}

/** A text that was read, but tells nothing about its apps. */
function broken(message: string, origin: string): ManifestReading {
  return { ...unreadable(message, origin), problems: [{ message, origin, app: "" }] };
}

/** An app of a manifest. One that is kept from an earlier version has what is wrong with the current one. */
export type ReadApp = Pick<Desired<NCApp>, "app" | "invalid">;

/** Returns the apps of a reading, and the last valid version of those that are broken in it. */
export function mergeWithLastGood(
  { apps, broken, unreadable, problems }: ManifestReading,
  lastGood: NCApp[],
): ReadApp[] {
  const fresh = new Set(apps.map(keyOf));
  const kept = lastGood.filter((app) => !fresh.has(keyOf(app)) && (broken.has(keyOf(app)) || unreadable));
  const problemsOf = (key: string) =>
    joinProblems(problems.filter(({ app }) => app === key || app === "" && !broken.has(key)));
  return [
    ...apps.map((app) => ({ app })),
    ...kept.map((app) => ({ app, invalid: problemsOf(keyOf(app)) })),
  ];
}

/** Describes the ignored objects of other kinds, as the end of a sentence; empty for none. */
export function describeSkipped(count: number): string {
  return count === 0 ? "" : `, ${pluralize(count, "object")} of other kinds ignored`;
}

/** Gives a local app a uid, which no API server does: derived from name and place, so that it survives restarts. */
export function localApp({ app, invalid }: ReadApp, source: string, origin: string): Desired<NCApp> {
  const uid = createHash("sha256").update(`${source}\0${origin}\0${keyOf(app)}`).digest("hex").slice(0, 32);
  // A manifest that was saved from an API server may have the time of a deletion there.
  const { deletionTimestamp: _deletionTimestamp, ...metadata } = app.metadata;
  return { app: { ...app, metadata: { ...metadata, uid } }, source, origin, invalid };
}

/** Returns a number with its noun: `1 file`, `2 files`. */
export function pluralize(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
