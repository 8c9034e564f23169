/**
 * Finds the line of a field in a YAML or JSON text, for messages. Pure.
 *
 * Paths are those of field errors, such as `spec.env[2].value`. A field that is missing, or that an alias or a merge brought there,
 * has the line of the nearest part around it that is written in the text.
 */
import { EVENT_ID, getScalarValue, parseEvents } from "js-yaml";

/** Returns a function from the path of a field to its line, counted from 1. A text that cannot be parsed has only line 1. */
export function fieldLines(text: string): (path: string) => number {
  const offsets = readOffsets(text);
  return (path) => {
    for (let part = path; part !== ""; part = part.slice(0, Math.max(0, part.search(/[.[][^.[]*$/)))) {
      const offset = offsets.get(part);
      if (offset !== undefined) return lineAt(text, offset);
      if (!/[.[]/.test(part)) break;
    }
    return lineAt(text, offsets.get("") ?? 0);
  };
}

/** An open list or object; `key` is set between the key and the value of an object. */
interface Open {
  path: string;
  index?: number;
  key?: string;
}

function readOffsets(text: string): Map<string, number> {
  const offsets = new Map<string, number>();
  const open: Open[] = [];
  try {
    for (const event of parseEvents(text, {})) {
      if (event.type === EVENT_ID.POP) {
        open.pop();
        continue;
      }
      if (event.type === EVENT_ID.DOCUMENT) {
        open.push({ path: "" });
        continue;
      }
      const around = open.at(-1);
      const start = event.type === EVENT_ID.SCALAR
        ? event.valueStart
        : event.type === EVENT_ID.ALIAS
        ? event.anchorStart
        : event.start;
      if (around && "key" in around && around.key === undefined && event.type === EVENT_ID.SCALAR) {
        around.key = getScalarValue(text, event);
        offsets.set(join(around.path, around.key), start);
        continue;
      }
      const path = pathOfValue(around);
      if (!offsets.has(path)) offsets.set(path, start);
      if (event.type === EVENT_ID.SEQUENCE) open.push({ path, index: 0 });
      else if (event.type === EVENT_ID.MAPPING) open.push({ path, key: undefined });
    }
  } catch {
    // Tabs are fine in JSON, but not in YAML.
    offsets.clear();
  }
  return offsets;
}

/** The path of the next value in an open list or object, which moves on. */
function pathOfValue(around: Open | undefined): string {
  if (around?.index !== undefined) return `${around.path}[${around.index++}]`;
  if (around?.key === undefined) return around?.path ?? "";
  const path = join(around.path, around.key);
  around.key = undefined;
  return path;
}

function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}
