/**
 * The versions of an app: a version is what the spec says about the program and its lifecycle, and the content of the script if the app has
 * `update`. Pure.
 *
 * Caps, placement, `suspend`, `allowExec` and `update` itself belong to no version: they are always those of the spec that the source
 * wants. The scheduler counts caps and ports by that spec, and a right that was taken away must not come back.
 */
import { createHash } from "node:crypto";
import { annotations } from "../../api/names.ts";
import { type Schema, spec as specSchema, versionFields } from "../../api/schema/schema.ts";
import type { NCAppSpec, NCAppStatus } from "../../api/types.ts";
import { applyDefaults } from "../../api/validate/validate.ts";
import { memoize } from "../../lib/memoize.ts";
import { isoSeconds } from "../../lib/time.ts";
import { runHash } from "./run-hash.ts";
import type { AppRecord, RunnableApp, Version } from "../types.ts";

/** What identifies a version. The script is its digest; undefined or empty if it is not known or not kept. */
export type VersionId = Pick<Version, "revision" | "script">;

/** A short digest of the spec's part of a version. Defaults do not count: a later agent may have more of them. */
export const revisionOf: (app: RunnableApp) => string = memoize(({ spec }) => {
  const properties: Readonly<Record<string, Schema>> = specSchema.properties;
  const set = Object.entries(partOf(spec)).filter(([name, value]) =>
    JSON.stringify(value) !== JSON.stringify(properties[name]?.default)
  );
  return createHash("sha256").update(JSON.stringify(set)).digest("hex").slice(0, 10);
});

/** The part of a spec that belongs to its version, in the order of the schema. */
export function partOf(spec: NCAppSpec): NCAppSpec {
  const fields = versionFields.filter((name) => spec[name] !== undefined && spec[name] !== "");
  return Object.fromEntries(fields.map((name) => [name, spec[name]]));
}

/** The app with another version. */
export function withVersion(app: RunnableApp, { spec }: Pick<Version, "spec">): RunnableApp {
  const rest = Object.entries(app.spec).filter(([name]) => !(versionFields as string[]).includes(name));
  return { ...app, spec: applyDefaults({ ...Object.fromEntries(rest), ...spec }) };
}

/** The version that is in force. The script is known once a run has read it. */
export function currentVersion({ app, run }: AppRecord): VersionId {
  const script = run?.hash === runHash(app) ? run.script : undefined;
  return { revision: revisionOf(app), ...(script ? { script } : {}) };
}

/** Reports whether two versions are the same, as far as is known. */
export function isSameVersion(a: VersionId, b: VersionId | undefined): boolean {
  return a.revision === b?.revision && (!a.script || !b.script || a.script === b.script);
}

/** The app as its source wants it, which is another than the one in force if its version is refused. */
export function wantedApp({ app, refused }: Pick<AppRecord, "app" | "refused">): RunnableApp {
  return refused?.app ?? app;
}

/** How the app is updated; undefined without `update`, and for an app of a set, which has its own. */
export function updateOf({ spec, metadata }: RunnableApp): RunnableApp["spec"]["update"] {
  return metadata.annotations?.[annotations.written] === undefined ? spec.update : undefined;
}

/** Which content of the script to run in place of another, and which to keep; undefined if the app keeps none. */
export function scriptsOf(record: AppRecord): { pinned?: string; keep: string[] } | undefined {
  if (!updateOf(record.app)) return undefined;
  const { good, previous, refused } = record;
  const keep = [good?.script, previous?.script, refused?.script].filter((digest) => digest !== undefined);
  return { keep, ...(refused && good?.script ? { pinned: good.script } : {}) };
}

/** The name of a version as users see it: `3f2a9c41b0`, with a script `3f2a9c41b0-e3b0c442`. */
export function versionName({ revision, script }: VersionId): string {
  return script ? `${revision}-${script.slice(0, 8)}` : revision;
}

/** The versions of an app as its status shows them, what is in force first. */
export function revisionsOf(record: AppRecord): NonNullable<NCAppStatus["revisions"]> {
  const { good, previous, trial, refused } = record;
  const row = (version: VersionId, state: "Trial" | "Good" | "Previous" | "Refused", at: number) => ({
    revision: versionName(version),
    state,
    since: isoSeconds(at),
  });
  return [
    ...(trial ? [row(trial, "Trial", trial.since)] : []),
    ...(good ? [row(good, "Good", good.at)] : []),
    ...(previous ? [row(previous, "Previous", previous.at)] : []),
    ...(refused
      ? [{
        ...row({ revision: revisionOf(refused.app), script: refused.script }, "Refused", refused.at),
        reason: refused.reason,
      }]
      : []),
  ];
}
