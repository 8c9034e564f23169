/**
 * Parses the documents of a YAML or JSON text one by one, so that a broken document does not affect the others.
 *
 * Guarantees: the result is plain JSON data without shared parts, at most `maxSize` in all, so aliases cannot blow up code
 * that walks or prints it. YAML means what it means to kubectl: `yes` and `on` are booleans, `<<` merges.
 */
import { Buffer } from "node:buffer";
import { boolYaml11Tag, CORE_SCHEMA, load, mergeTag, YAMLException } from "js-yaml";
import { explainYAMLError } from "./yaml-error.ts";

/** A document with its text, or a problem; `line` is where the document starts or where the problem is. */
export type ParsedDocument = { line: number } & ({ value: unknown; text: string } | { problem: string });

/** Maximum size of a text, in bytes, and of the expanded result, in characters. */
export const maxSize = 1024 * 1024;

const maxDepth = 64;
const schema = CORE_SCHEMA.withTags(boolYaml11Tag, mergeTag);

/** Parses every document that has more than comments and directives. */
export function parseDocuments(text: string): ParsedDocument[] {
  const size = Buffer.byteLength(text);
  if (size > maxSize) {
    return [{ line: 1, problem: `too large: ${size} bytes, at most ${maxSize} are allowed` }];
  }
  const json = parseJSON(text);
  if (json) return [json];
  return split(text).filter(({ text }) => /^[^\S\n]*[^\s#%]/m.test(text)).map(parseYAML);
}

type Chunk = { text: string; line: number };

// "---" at the start of a line ends a document, even within a block scalar.
function split(text: string): Chunk[] {
  const chunks: Chunk[] = [];
  let line = 1;
  for (const part of text.split(/^(?=---(?:\s|$))/m)) {
    chunks.push({ text: part.replace(/^---/, "   "), line });
    line += part.split("\n").length - 1;
  }
  return chunks;
}

// Tabs and duplicate keys are fine in JSON, not in YAML.
function parseJSON(text: string): ParsedDocument | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return bounded(JSON.parse(text), { text, line: 1 });
  } catch {
    return undefined;
  }
}

function parseYAML({ text, line }: Chunk): ParsedDocument {
  try {
    return bounded(load(text, { schema, maxDepth, maxTotalMergeKeys: 1_000 }), { text, line });
  } catch (error) {
    if (!(error instanceof YAMLException)) {
      return { line, problem: `not YAML: ${oneLine((error as Error).message)}` };
    }
    const explained = explainYAMLError(error, text);
    return { line: line + explained.line, problem: `not YAML: ${oneLine(explained.problem)}` };
  }
}

// The parser's messages quote the input.
function oneLine(text: string): string {
  return text.slice(0, 300).replaceAll(/[\u0000-\u001f]+/g, " ");
}

function bounded(value: unknown, { text, line }: Chunk): ParsedDocument {
  const budget = { remaining: maxSize };
  const copy = copyWithin(budget, value, 0);
  return budget.remaining >= 0
    ? { line, value: copy, text }
    : { line, problem: `too large: aliases expand it beyond ${maxSize} characters` };
}

// Aliases become shared objects, even cycles; budget and depth bound the walk.
function copyWithin(budget: { remaining: number }, value: unknown, depth: number): unknown {
  budget.remaining -= typeof value === "string" ? value.length + 1 : 1;
  if (depth > maxDepth) budget.remaining = -1;
  if (budget.remaining < 0) return undefined;
  if (Array.isArray(value)) return value.map((item) => copyWithin(budget, item, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      budget.remaining -= name.length;
      return [name, copyWithin(budget, field, depth + 1)];
    }),
  );
}
