import { resolve } from "node:path";
import { isObject, validateWritten, withDefaults } from "../validate/validate.ts";
import { maxSize, parseDocuments } from "./documents.ts";
import { quote } from "../field-error.ts";
import { appKey, defaultNamespace, listKind } from "../names.ts";
import { otherKind } from "./other-kind.ts";
import { spec as specSchema } from "../schema/schema.ts";
import type { NCApp } from "../types.ts";

/** Something in a manifest that is not as it should be. */
export type ManifestProblem = {
  /** The file or URL. */
  origin: string;
  /** Which object of the text, from 0; the items of a List count one by one. */
  index: number;
  /** The line where the document of the object begins, or where its syntax breaks. */
  line: number;
  /** `namespace/name`, where it has one. */
  app?: string;
  field?: string;
  value?: unknown;
  message: string;
};

/** What a text of manifests holds: the apps that are valid, what is not our business, and everything else as problems. */
export type ParsedManifests = {
  apps: Array<{ app: NCApp; index: number; line: number }>;
  problems: ManifestProblem[];
  /** Objects that certainly are no NCApps and were not meant as such, each with a message that says so. */
  skipped: ManifestProblem[];
};

/**
 * The NCApps in a YAML or JSON text: many documents, Lists, whatever is broken beside whatever is good.
 *
 * Apps come with namespace and defaults filled in, as from an API server. With `baseDir`, paths that begin with `./`
 * are taken from there; the API server refuses them, so that they work only in files beside their scripts.
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
        const message = `is defined already at line ${first}; this one is left out`;
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

/** A problem in one line: `web.yaml:12: default/web: spec.cpuPCT: Invalid value: "200": must be …`. */
export function formatProblem({ origin, line, app, message }: ManifestProblem): string {
  const named = app === undefined || /^[!-~]{1,320}$/.test(app) ? app : quote(app);
  return [`${origin}:${line}`, named, message].filter((part) => part !== undefined).join(": ");
}

/** The longest text that `parseManifests` reads, in bytes. */
export const maxManifestSize: number = maxSize;

type Trouble = { field?: string; value?: unknown; message: string };
type Read = { app?: string } & ({ value: NCApp } | { problems: Trouble[] } | { skipped: string });

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

function withoutNulls(fields: { [name: string]: unknown }): { [name: string]: unknown } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
