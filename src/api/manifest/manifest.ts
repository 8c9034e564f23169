/**
 * Reads manifests: the NCApps in a YAML or JSON text, from a file, a URL or standard input.
 *
 * `documents.ts` parses the text, `other-kind.ts` distinguishes objects of other kinds from misspelled NCApps, and `api/validate`
 * checks the rest. A problem concerns one object; the others are read. `field-lines.ts` finds its line. `value-holder.ts` reads the
 * Secrets and ConfigMaps that serve the apps of a folder.
 */
import { resolve } from "node:path";
import { isObject, withoutNulls } from "../../lib/objects.ts";
import { validateNCAppSet, validateWritten, withDefaults } from "../validate/validate.ts";
import { maxSize, parseDocuments } from "./documents.ts";
import { fieldLines } from "./field-lines.ts";
import { quote, withoutMisnamed } from "../field-error.ts";
import { apiVersion, appKey, defaultNamespace, listKind } from "../names.ts";
import { isSet, otherKind } from "./other-kind.ts";
import { isValueHolder, readValueHolder, type ValueHolder } from "./value-holder.ts";
import { spec as specSchema } from "../schema/schema.ts";
import type { NCApp } from "../types.ts";

export { holderKey, type ValueHolder } from "./value-holder.ts";
export { explainYAMLError } from "./yaml-error.ts";

export type ManifestProblem = {
  /** The file or URL. */
  origin: string;
  /** The line of the field, of the object if no field is named, or of the syntax error. */
  line: number;
  /** `namespace/name`, if the object has a name. */
  app?: string;
  /** The Secret or ConfigMap, if the problem is with one: `Secret namespace/name`, or only its kind if it has no name. */
  holder?: string;
  field?: string;
  message: string;
};

export type ParsedManifests = {
  apps: NCApp[];
  /** Keys of the valid NCAppSets, if they were asked for. */
  sets: string[];
  /** The Secrets and ConfigMaps, if they were asked for, each with the line where its document starts. */
  holders: { holder: ValueHolder; line: number }[];
  problems: ManifestProblem[];
  /** Objects that certainly are of another kind, each with a message. */
  skipped: ManifestProblem[];
};

/**
 * Reads the NCApps of a YAML or JSON text with any number of documents and Lists.
 *
 * Apps have namespace and defaults filled in, as from an API server. With `baseDir`, paths that start with `./` are
 * relative to it. The API server rejects such paths, so they work only in files next to their scripts.
 *
 * NCAppSets are for clusters: they are skipped, or with `checkSets` checked. Secrets and ConfigMaps are skipped, or with `takeHolders`
 * read.
 */
export function parseManifests(
  text: string,
  origin: string,
  { baseDir, namespace = defaultNamespace, checkSets = false, takeHolders = false }: ParseOptions = {},
): ParsedManifests {
  const found: ParsedManifests = { apps: [], sets: [], holders: [], problems: [], skipped: [] };
  const seen = new Map<string, number>();
  for (const document of parseDocuments(text)) {
    const { line } = document;
    if ("problem" in document) {
      found.problems.push({ origin, line, message: document.problem });
      continue;
    }
    const lineOf = lazyLines(document);
    for (const { object, path } of objectsIn(document.value)) {
      const problemsOf = (app: string | undefined, problems: Problem[]) =>
        problems.map(({ field, message }): ManifestProblem => (
          { origin, line: lineOf([path, field].filter(Boolean).join(".")), app, field, message }
        ));
      if (checkSets && isObject(object) && isSet(object)) {
        const { set, problems } = readSet(object, namespace);
        if (problems.length === 0 && set) found.sets.push(set);
        found.problems.push(...problemsOf(set, problems));
        continue;
      }
      if (takeHolders && isObject(object) && isValueHolder(object)) {
        const read = readValueHolder(object, namespace);
        const first = read.key && seen.get(read.key);
        if (read.key && first === undefined) seen.set(read.key, line);
        const problems = first !== undefined
          ? [{ message: `is already defined at line ${first}; ignoring this one` }]
          : "problems" in read
          ? read.problems
          : [];
        const holder = read.key ?? String(object.kind);
        found.problems.push(...problemsOf(undefined, problems).map((problem) => ({ ...problem, holder })));
        if (problems.length === 0 && "holder" in read) found.holders.push({ holder: read.holder, line });
        continue;
      }
      const read = readApp(object, { baseDir, namespace });
      const first = read.app && seen.get(read.app);
      if (read.app && first === undefined) seen.set(read.app, line);
      if (first !== undefined) {
        const message = `is already defined at line ${first}; ignoring this one`;
        found.problems.push(...problemsOf(read.app, [{ message }]));
      } else if ("value" in read) {
        found.apps.push(read.value);
      } else if ("skipped" in read) {
        found.skipped.push({ origin, line, message: read.skipped });
      } else found.problems.push(...problemsOf(read.app, read.problems));
    }
  }
  return found;
}

export interface ParseOptions {
  baseDir?: string;
  namespace?: string;
  checkSets?: boolean;
  takeHolders?: boolean;
}

/** Formats a problem as one line: `web.yaml:12: default/web: spec.cpuPCT: Invalid value: "200": must be …`. */
export function formatProblem({ origin, line, app, holder, message }: ManifestProblem): string {
  const named = app === undefined || /^[!-~]{1,320}$/.test(app) ? app ?? holder : quote(app);
  return [`${origin}:${line}`, named, message].filter((part) => part !== undefined).join(": ");
}

/** Maximum size of a text for `parseManifests`, in bytes. */
export const maxManifestSize: number = maxSize;

type Problem = Pick<ManifestProblem, "field" | "message">;
type Read = { app?: string } & ({ value: NCApp } | { problems: Problem[] } | { skipped: string });

/** The lines of fields in a document, found only if there is a problem. */
function lazyLines({ text, line }: { text: string; line: number }): (path: string) => number {
  let find: ((path: string) => number) | undefined;
  return (path) => line - 1 + (find ??= fieldLines(text))(path);
}

/** The objects of a document, each with its path in it. */
function objectsIn(value: unknown): { object: unknown; path: string }[] {
  const isList = isObject(value) && (value.kind === "List" || value.kind === listKind);
  return isList && Array.isArray(value.items)
    ? value.items.map((object, index) => ({ object, path: `items[${index}]` }))
    : [{ object: value, path: "" }];
}

function readApp(object: unknown, { baseDir, namespace }: { baseDir?: string; namespace: string }): Read {
  if (!isObject(object)) return { problems: [{ message: `${quote(object)} is not a Kubernetes object` }] };
  const other = otherKind(object);
  if (other?.foreign) return { skipped: other.message };
  if (other) return { problems: [{ message: other.message }] };
  const { status: _, ...written } = object;
  const metadata = isObject(written.metadata)
    ? { namespace, ...withoutNulls(written.metadata) }
    : written.metadata;
  const candidate = { ...written, metadata, spec: withPaths(written.spec, baseDir) };
  const app = nameOf(metadata);
  const problems = validateWritten(candidate);
  if (problems.length > 0) return { app, problems };
  // Every version has the same schema, and a change of the version alone is no change of the app.
  const value = { ...candidate, apiVersion, spec: withDefaults(specSchema, candidate.spec) };
  return { app, value: value as NCApp };
}

function readSet(
  object: { [name: string]: unknown },
  namespace: string,
): { set?: string; problems: Problem[] } {
  const metadata = isObject(object.metadata)
    ? { namespace, ...withoutNulls(object.metadata) }
    : object.metadata;
  return { set: nameOf(metadata), problems: withoutMisnamed(validateNCAppSet({ ...object, metadata })) };
}

function nameOf(metadata: unknown): string | undefined {
  if (!isObject(metadata) || typeof metadata.name !== "string") return undefined;
  return typeof metadata.namespace === "string" ? appKey(metadata.namespace, metadata.name) : undefined;
}

function withPaths(spec: unknown, baseDir: string | undefined): unknown {
  if (!isObject(spec) || baseDir === undefined) return spec;
  const absolute = (value: unknown) => {
    // The file of an `envFile` with a leading "-" may be missing.
    const [, optional = "", path] = typeof value === "string" ? /^(-?)(\.\/.*)$/.exec(value) ?? [] : [];
    return path === undefined ? value : optional + resolve(baseDir, path);
  };
  const paths = ["shellFile", "stopFile", "workingDir", "envFile"].filter((name) =>
    Object.hasOwn(spec, name)
  );
  return { ...spec, ...Object.fromEntries(paths.map((name) => [name, absolute(spec[name])])) };
}
