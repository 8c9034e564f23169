/**
 * The documents of a YAML or JSON text, each parsed on its own: a broken one does not take the others with it.
 *
 * Guarantees: what comes out is plain JSON data without shared parts, not larger than `maxSize` in all, so that
 * whoever walks or prints it is safe from aliases that multiply. YAML is read as kubectl reads it: `yes` and `on` are
 * booleans, `<<` merges.
 */
import { Buffer } from "node:buffer";
import { boolYaml11Tag, CORE_SCHEMA, load, mergeTag, YAMLException } from "js-yaml";

/** A document, or why there is none; `line` is where it begins, or where the trouble is. */
export type ParsedDocument = { line: number } & ({ value: unknown } | { problem: string });

/** Longest text, and largest result of aliases, in bytes and characters. */
export const maxSize = 1024 * 1024;

const maxDepth = 64;
const schema = CORE_SCHEMA.withTags(boolYaml11Tag, mergeTag);

/** Reads every document that holds more than comments and directives. */
export function parseDocuments(text: string): ParsedDocument[] {
  const size = Buffer.byteLength(text);
  if (size > maxSize) {
    return [{ line: 1, problem: `${size} bytes are more than the ${maxSize} that are read` }];
  }
  const json = parseJSON(text);
  if (json) return [json];
  return split(text).filter(({ text }) => /^[^\S\n]*[^\s#%]/m.test(text)).map(parseYAML);
}

type Chunk = { text: string; line: number };

// "---" at the beginning of a line ends a document wherever it stands, even within a block of text.
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
    return bounded(JSON.parse(text), 1);
  } catch {
    return undefined;
  }
}

function parseYAML({ text, line }: Chunk): ParsedDocument {
  try {
    return bounded(load(text, { schema, maxDepth, maxTotalMergeKeys: 1_000 }), line);
  } catch (error) {
    if (!(error instanceof YAMLException)) {
      return { line, problem: `not YAML: ${oneLine((error as Error).message)}` };
    }
    return { line: line + (error.mark?.line ?? 0), problem: `not YAML: ${oneLine(error.reason)}` };
  }
}

/** The parser's words quote what it stumbled over, whatever that is. */
function oneLine(text: string): string {
  return text.slice(0, 300).replaceAll(/[\u0000-\u001f]+/g, " ");
}

function bounded(value: unknown, line: number): ParsedDocument {
  const budget = { left: maxSize };
  const copy = copyWithin(budget, value, 0);
  return budget.left >= 0
    ? { line, value: copy }
    : { line, problem: `aliases make it larger than ${maxSize} characters` };
}

// Aliases come as shared objects, even as cycles; the budget and the depth end the walk in either case.
function copyWithin(budget: { left: number }, value: unknown, depth: number): unknown {
  budget.left -= typeof value === "string" ? value.length + 1 : 1;
  if (depth > maxDepth) budget.left = -1;
  if (budget.left < 0) return undefined;
  if (Array.isArray(value)) return value.map((item) => copyWithin(budget, item, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      budget.left -= name.length;
      return [name, copyWithin(budget, field, depth + 1)];
    }),
  );
}
