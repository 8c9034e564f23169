/** What one file or URL of manifests wants: its valid objects, and the last valid version of the broken ones. */
import { createHash } from "node:crypto";
import process from "node:process";
import {
  formatProblem,
  holderKey,
  type ManifestProblem,
  parseManifests,
  type ValueHolder,
} from "../api/manifest/manifest.ts";
import { keyOf } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import type { Desired } from "../api/app-shapes.ts";
import { joinProblems, type SourceProblem } from "./source.ts";

export interface ManifestReading {
  apps: NCApp[];
  /** The Secrets and ConfigMaps, and those that are refused. */
  holders: FolderHolder[];
  problems: SourceProblem[];
  /** Keys of the broken objects. */
  broken: Set<string>;
  /** Something has no readable name: it may be any app. */
  unreadable: boolean;
  /** The same for Secrets and ConfigMaps: the keys of the broken ones; "" for one without a readable name. */
  brokenHolders: Set<string>;
  /** How many objects are of other kinds, such as a Namespace beside its apps: not a problem. */
  skipped: number;
}

/** A Secret or ConfigMap of a folder, or why it is refused. */
export type FolderHolder = { key: string } & ({ holder: ValueHolder } | { refused: string });

/** The folder of a manifest. */
export interface ManifestPlace {
  /** Paths that begin with `./` start here. */
  baseDir: string;
  /** Owner and mode of the file: other users must not read a Secret. */
  file: { uid: number; mode: number };
}

/** Reads a text. Secrets and ConfigMaps count only in a folder. */
export function readManifests(text: string, origin: string, place?: ManifestPlace): ManifestReading {
  // An empty text removes nothing: an editor may be about to write it, or the disk was full. Deleting the file removes its apps.
  if (!/^[^\S\n]*[^\s#]/m.test(text.replaceAll(/^(---|\.\.\.)/gm, ""))) {
    return broken(`${origin}: contains no manifest`, origin);
  }
  const options = { baseDir: place?.baseDir, takeHolders: place !== undefined };
  const { apps, holders, problems, skipped } = parseManifests(text, origin, options);
  const whyNot = place && secretFileProblem(place.file);
  const isRefused = ({ kind }: ValueHolder) => kind === "Secret" && whyNot !== undefined;
  const refused = holders.filter(({ holder }) => isRefused(holder)).map((
    { holder, line },
  ): ManifestProblem => (
    { origin, line, holder: holderKey(holder), message: whyNot ?? "" }
  ));
  return {
    apps,
    holders: holders.map(({ holder }) => ({
      key: holderKey(holder),
      ...(isRefused(holder) ? { refused: `${origin}: ${whyNot}` } : { holder }),
    })),
    problems: [...problems, ...refused].map((problem) => ({
      message: formatProblem(problem),
      field: problem.field,
      origin,
      ...(problem.holder === undefined ? { app: problem.app ?? "" } : { holder: problem.holder }),
    })),
    broken: new Set(problems.flatMap(({ app }) => app ?? [])),
    unreadable: problems.some(({ app, holder }) => app === undefined && holder === undefined),
    brokenHolders: new Set(
      problems.flatMap(({ app, holder }) => app === undefined ? (holder?.includes("/") ? holder : "") : []),
    ),
    skipped: skipped.length,
  };
}

/** Why a file must not hold Secrets; undefined if it may. */
export function secretFileProblem(
  { uid, mode }: ManifestPlace["file"],
  self: number = process.geteuid?.() ?? 0,
): string | undefined {
  if (uid !== 0 && uid !== self) {
    return `the file belongs to user ${uid}, who can read the Secret: chown it to root`;
  }
  const bits = mode & 0o777;
  return (bits & 0o177) === 0
    ? undefined
    : `the file has mode 0${bits.toString(8).padStart(3, "0")}, a Secret needs 0600 or less: chmod 600 it`;
}

/** A file that could not be read: nothing is known about its apps. */
export function unreadable(message: string, origin: string): ManifestReading {
  return {
    apps: [],
    holders: [],
    problems: [{ message, origin }],
    broken: new Set(),
    unreadable: true,
    brokenHolders: new Set([""]),
    skipped: 0,
  };
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

/** Returns the Secrets and ConfigMaps of a reading, and the last valid version of those that are broken in it. */
export function holdersWithLastGood(
  { holders, brokenHolders }: Pick<ManifestReading, "holders" | "brokenHolders">,
  lastGood: FolderHolder[],
): FolderHolder[] {
  const fresh = new Set(holders.map(({ key }) => key));
  const kept = lastGood.filter(({ key }) =>
    !fresh.has(key) && (brokenHolders.has(key) || brokenHolders.has(""))
  );
  return [...holders, ...kept];
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
