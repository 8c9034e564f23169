/**
 * Reads manifests: the NCApps in a YAML or JSON text, from a file, a URL or standard input.
 *
 * `documents.ts` parses the text, `other-kind.ts` distinguishes objects of other kinds from misspelled NCApps, and `api/validate`
 * checks the rest. A problem concerns one object; the others are read.
 */
import { resolve } from "node:path";
import { isObject, withoutNulls } from "../../lib/objects.ts";
import { validateWritten, withDefaults } from "../validate/validate.ts";
import { maxSize, parseDocuments } from "./documents.ts";
import { quote } from "../field-error.ts";
import { appKey, defaultNamespace, listKind } from "../names.ts";
import { otherKind } from "./other-kind.ts";
import { spec as specSchema } from "../schema/schema.ts";
import type { NCApp } from "../types.ts";

export type ManifestProblem = {
  /** The file or URL. */
  origin: string;
  /** Index of the object in the text; each item of a List counts. */
  index: number;
  /** The line where the object's document starts, or of the syntax error. */
  line: number;
  /** `namespace/name`, if the object has a name. */
  app?: string;
  field?: string;
  value?: unknown;
  message: string;
};

export type ParsedManifests = {
  apps: Array<{ app: NCApp; index: number; line: number }>;
  problems: ManifestProblem[];
  /** Objects that certainly are of another kind, each with a message. */
  skipped: ManifestProblem[];
};

/**
 * Reads the NCApps of a YAML or JSON text with any number of documents and Lists.
 *
 * Apps have namespace and defaults filled in, as from an API server. With `baseDir`, paths that start with `./` are
 * relative to it. The API server rejects such paths, so they work only in files next to their scripts.
 */
export function parseManifests(
  text: string,
  origin: string,
  { baseDir, namespace = defaultNamespace }: { baseDir?: string; namespace?: string } = {},
): ParsedManifests {
  const found: ParsedManifests = { apps: [], problems: [], skipped: [] };
  const seen = new Map<string, number>();
  let index = 0;
  for (const document of parseDocuments(text)) {
    const { line } = document;
    if ("problem" in document) {
      found.problems.push({ origin, index: index++, line, message: document.problem });
      continue;
    }
    for (const object of objectsIn(document.value)) {
      const where = { origin, index: index++, line };
      const read = readApp(object, { baseDir, namespace });
      const first = read.app && seen.get(read.app);
      if (read.app && first === undefined) seen.set(read.app, line);
      if (first !== undefined) {
        const message = `is already defined at line ${first}; ignoring this one`;
        found.problems.push({ ...where, app: read.app, message });
      } else if ("value" in read) {
        found.apps.push({ app: read.value, index: where.index, line });
      } else if ("skipped" in read) {
        found.skipped.push({ ...where, message: read.skipped });
      } else {
        found.problems.push(...read.problems.map((problem) => ({ ...where, app: read.app, ...problem })));
      }
    }
  }
  return found;
}

/** Formats a problem as one line: `web.yaml:12: default/web: spec.cpuPCT: Invalid value: "200": must be …`. */
export function formatProblem({ origin, line, app, message }: ManifestProblem): string {
  const named = app === undefined || /^[!-~]{1,320}$/.test(app) ? app : quote(app);
  return [`${origin}:${line}`, named, message].filter((part) => part !== undefined).join(": ");
}

/** Maximum size of a text for `parseManifests`, in bytes. */
export const maxManifestSize: number = maxSize;

type Problem = { field?: string; value?: unknown; message: string };
type Read = { app?: string } & ({ value: NCApp } | { problems: Problem[] } | { skipped: string });

function objectsIn(value: unknown): unknown[] {
  const isList = isObject(value) && (value.kind === "List" || value.kind === listKind);
  return isList && Array.isArray(value.items) ? value.items : [value];
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
  const problems = validateWritten(candidate).map(({ field, value, message }) => ({ field, value, message }));
  if (problems.length > 0) return { app, problems };
  return { app, value: { ...candidate, spec: withDefaults(specSchema, candidate.spec) } as NCApp };
}

function nameOf(metadata: unknown): string | undefined {
  if (!isObject(metadata) || typeof metadata.name !== "string") return undefined;
  return typeof metadata.namespace === "string" ? appKey(metadata.namespace, metadata.name) : undefined;
}

function withPaths(spec: unknown, baseDir: string | undefined): unknown {
  if (!isObject(spec) || baseDir === undefined) return spec;
  const absolute = (value: unknown) =>
    typeof value === "string" && value.startsWith("./") ? resolve(baseDir, value) : value;
  const paths = ["shellFile", "stopFile", "workingDir"].filter((name) => Object.hasOwn(spec, name));
  return { ...spec, ...Object.fromEntries(paths.map((name) => [name, absolute(spec[name])])) };
}
