/**
 * Writes docs/reference.md from the schema: every field with type, default, bounds and example, and whether a change restarts the app,
 * as the agent decides it. `npm run generate` calls it; with `check` it writes nothing and fails if it would.
 */
import { dump } from "js-yaml";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import {
  explainMismatch,
  lifecycle,
  limits,
  ncapp,
  ncappset,
  placement,
  program,
  type Schema,
  setSpec,
  templateSpec,
} from "../src/api/schema/schema.ts";
import { apiVersion, kind, setKind } from "../src/api/names.ts";
import {
  applyDefaults,
  type FieldError,
  validateNCApp,
  validateNCAppSet,
} from "../src/api/validate/validate.ts";
import type { NCAppSpec } from "../src/api/types.ts";
import { runHash } from "../src/supervisor/decide/decide.ts";
import { exampleSetSpecs, exampleSpecs } from "./reference/examples.ts";

const target = fileURLToPath(new URL("../docs/reference.md", import.meta.url));

/** Updates the page, or, with `check`, reports that it is outdated. Returns the exit code. */
export async function makeReference({ check }: { check: boolean }): Promise<number> {
  const wanted = renderReference();
  const isCurrent = await readFile(target, "utf8").catch(() => "") === wanted;
  if (check && !isCurrent) console.log("docs/reference.md is not up to date; run: npm run generate");
  if (check) return isCurrent ? 0 : 1;
  if (!isCurrent) await writeFile(target, wanted);
  console.log(`docs/reference.md ${isCurrent ? "was up to date" : "was written"}`);
  return 0;
}

const groups: [title: string, text: string, fields: Record<string, Schema>][] = [
  ["What to run", "A change of these fields restarts the app.", program],
  ["Limits", "Changes apply without a restart.", limits],
  ["Lifecycle", "Changes apply without a restart.", lifecycle],
  ["Placement", "Changes apply without a restart; another `nodeName` moves the app.", placement],
];

/** Returns the text of the page. Throws if a field has no example, or an example is not valid. */
export function renderReference(): string {
  for (const spec of exampleSpecs) checkExample(validateNCApp(manifest(spec)));
  for (const spec of exampleSetSpecs) {
    checkExample(validateNCAppSet({ apiVersion, kind: setKind, metadata: { name: "web" }, spec }));
  }
  checkUses([
    ...usesOf(ncapp.properties.spec, exampleSpecs, "spec"),
    ...usesOf(setSpec, exampleSetSpecs, "ncappset.spec"),
  ]);
  /** Parts of the schema that are on the page already, with the field that has them. */
  const known = new Map<string, string>();
  const sections = groups.flatMap(([title, text, fields]) => [
    `## ${title}`,
    text,
    ...Object.entries(fields).flatMap(([name, schema]) => {
      if (restarts(name) !== (fields === program)) throw new Error(`${name} is in the wrong group`);
      return section(name, schema, known, examplesOf(name, exampleSpecs));
    }),
  ]);
  const setSections = Object.entries(setSpec.properties).flatMap(([name, schema]) =>
    section(name, schema, new Map(), examplesOf(name, exampleSetSpecs), isRequired(setSpec, name))
  );
  const statusFields = new Map<string, string>();
  return [
    `# Reference of ${kind} and ${setKind}`,
    "<!-- Made by tools/reference.ts from the schema: npm run generate. Do not edit. -->",
    `Every field of \`${kind}\` and [\`${setKind}\`](#${setKind.toLowerCase()}) (\`${apiVersion}\`). \`nckubelet explain FIELD\` and ` +
    "`kubectl explain ncapp.spec` have the same descriptions. A field without a default is optional and empty, unless it is " +
    "marked as required.",
    ...sections,
    "## Status",
    "The agent writes the status, and the scheduler `nominatedNodeName` and the condition `Scheduled`. " +
    "[Troubleshooting](troubleshooting.md) explains phases and reasons.",
    statusList(ncapp.properties.status, statusFields),
    `## ${setKind}`,
    "[NCAppSets](sets.md) explains what sets do. These are the fields of their `spec`.",
    ...setSections,
    `## Status of an ${setKind}`,
    "The sets controller writes it.",
    statusList(ncappset.properties.status, statusFields),
  ].join("\n\n") + "\n";
}

function section(
  name: string,
  schema: Schema,
  known: Map<string, string>,
  examples: unknown[],
  isRequired = false,
): string[] {
  // A number, a switch or a choice needs none.
  const isPlain = schema.enum || schema.type === "integer" || schema.type === "boolean";
  const texts = isPlain ? [] : examples.map((example) => shortYAML({ [name]: example }));
  const facts = factsOf(schema, isRequired);
  const lines = texts.filter((text) => !text.includes("\n")).map((text) => `\`${text}\``);
  return [
    `### ${name}`,
    schema.description ?? "",
    [facts && `${facts[0]!.toUpperCase()}${facts.slice(1)}.`, ...lines.map((line) => `Example: ${line}`)]
      .filter(Boolean).join(" "),
    ...texts.filter((text) => text.includes("\n")).map((text) => "```yaml\n" + text + "\n```"),
    fieldList(schema, name, known),
  ].filter(Boolean);
}

/** Writes as much on one line as fits. */
function shortYAML(value: unknown): string {
  for (let flowLevel = 1;; flowLevel++) {
    const text = dump(value, { quoteStyle: "double", lineWidth: -1, flowLevel }).trim()
      .replaceAll(/\{(?=\S)/g, "{ ").replaceAll(/(?<=\S)\}/g, " }");
    if (text.split("\n").every((line) => line.length <= 100)) return text;
  }
}

/** The fields below a field, as a list; those that another field has, too, by its name. "" if there are none. */
function fieldList(schema: Schema, owner: string, known: Map<string, string>, indent = ""): string {
  const inner = schema.items ?? schema;
  const same = new Map<string, string[]>();
  const lines = Object.entries(inner.properties ?? {}).flatMap(([name, field]) => {
    const required = isRequired(inner, name);
    const id = JSON.stringify([name, field, required]);
    const twin = known.get(id);
    if (twin) same.set(twin, [...same.get(twin) ?? [], `\`${name}\``]);
    if (twin) return [];
    known.set(id, owner);
    const facts = factsOf(field, required);
    const description = [field.description, field === templateSpec && "Fields as in NCApp."].filter(Boolean)
      .join(" ");
    return [
      `${indent}- \`${name}\`${facts && ` (${facts})`}${description ? `: ${description}` : ""}`,
      field === templateSpec ? "" : fieldList(field, `${owner}.${name}`, known, `${indent}  `),
    ].filter(Boolean);
  });
  const others = [...same].map(([twin, names]) => `${indent}- ${names.join(", ")}: as in \`${twin}\``);
  return [...lines, ...others].join("\n");
}

/** Without the bounds of counts: nobody else writes them. */
function statusList(schema: Schema, known: Map<string, string>): string {
  return fieldList(schema, "status", known).replaceAll("; at least 0)", ")");
}

function factsOf(schema: Schema, required: boolean): string {
  const { items } = schema;
  const type = typeOf(schema);
  return [
    type === "object" ? "" : type,
    required ? "required" : "",
    boundsOf(items && !items.properties ? { ...schema, ...items, maxItems: schema.maxItems } : schema),
    defaultOf(schema),
  ].filter(Boolean).join("; ");
}

function isRequired({ required }: Schema, name: string): boolean {
  return required?.includes(name) ?? false;
}

function typeOf(schema: Schema): string {
  if (schema["x-kubernetes-int-or-string"]) return "integer or string";
  if (schema.items) return schema.items.properties ? "list of objects" : `list of ${typeOf(schema.items)}s`;
  if (schema.additionalProperties) return `map of ${typeOf(schema.additionalProperties)}s`;
  return schema.format === "date-time" ? "time" : schema.type ?? "object";
}

function defaultOf(schema: Schema): string {
  return schema.default === undefined
    ? ""
    : `default \`${typeof schema.default === "object" ? JSON.stringify(schema.default) : schema.default}\``;
}

function boundsOf(schema: Schema): string {
  const { maxLength, minItems, maxItems, maxProperties, pattern } = schema;
  return [
    schema.enum?.map((value) => value === "" ? "empty" : `\`${value}\``).join(", "),
    rangeOf(schema),
    pattern && meaningOf(pattern),
    minItems === undefined ? "" : `at least ${minItems} items`,
    maxItems === undefined ? "" : `at most ${maxItems} items`,
    maxProperties === undefined ? "" : `at most ${maxProperties} entries`,
    maxLength === undefined ? "" : `at most ${maxLength} characters`,
  ].filter(Boolean).join("; ");
}

function rangeOf({ minimum, maximum, exclusiveMinimum }: Schema): string {
  if (minimum !== undefined && maximum === minimum) return `${minimum}`;
  if (minimum !== undefined && maximum !== undefined && !exclusiveMinimum) return `${minimum} to ${maximum}`;
  return [
    minimum === undefined ? "" : exclusiveMinimum ? `more than ${minimum}` : `at least ${minimum}`,
    maximum === undefined ? "" : `at most ${maximum}`,
  ].filter(Boolean).join(", ");
}

/** What a pattern allows, in words; nothing for one without words. */
function meaningOf(pattern: string): string {
  const words = explainMismatch(pattern, "");
  return words.startsWith("must match ")
    ? ""
    : words.replace(/^must not contain a /, "no ").replace(/^must (be )?/, "").replace(/: .*$/, "");
}

/** Every field below a schema, and whether one of the values has it. */
function usesOf(
  schema: Schema,
  values: readonly unknown[],
  path: string,
): { path: string; same: string; used: boolean }[] {
  if (schema === templateSpec) return [];
  if (schema.items) return usesOf(schema.items, values.flat(), `${path}[]`);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const found = values.map((value) => (value as Record<string, unknown>)[name])
      .filter((value) => value !== undefined);
    const use = { path: `${path}.${name}`, same: JSON.stringify([name, field]), used: found.length > 0 };
    return [use, ...usesOf(field, found, use.path)];
  });
}

function checkUses(uses: ReturnType<typeof usesOf>): void {
  // Probes have the same fields: one example is enough.
  const shown = new Set(uses.filter(({ used }) => used).map(({ same }) => same));
  const missing = uses.filter(({ same }) => !shown.has(same)).map(({ path }) => path);
  if (missing.length > 0) throw new Error(`tools/reference/examples.ts has no ${missing.join(", ")}`);
}

/** The different values that a field has in the examples. */
function examplesOf(name: string, specs: readonly object[]): unknown[] {
  const values = specs.map((spec) => (spec as Record<string, unknown>)[name])
    .filter((value) => value !== undefined);
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

/** Reports whether the agent restarts an app when this field changes to its example. */
function restarts(name: string): boolean {
  const hash = (spec: NCAppSpec) => runHash({ ...manifest(spec), spec: applyDefaults(spec) });
  return hash({}) !== hash({ [name]: examplesOf(name, exampleSpecs)[0] } as NCAppSpec);
}

function checkExample(errors: FieldError[]): void {
  if (errors.length > 0) {
    throw new Error(`tools/reference/examples.ts: ${errors.map(({ message }) => message).join("; ")}`);
  }
}

function manifest(spec: NCAppSpec) {
  return { apiVersion, kind, metadata: { name: "web" }, spec } as const;
}
