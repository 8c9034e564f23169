/**
 * The form to write instead of another that users of docker, systemd and Pods may expect. Values may be secret: only names are shown, and
 * words of commands.
 */
import { isObject } from "../../lib/objects.ts";
import { quote } from "../field-error.ts";
import type { Schema } from "../schema/schema.ts";

/** Returns what to write in place of a value of the wrong type; empty if there is nothing to say. */
export function formOf(schema: Schema, value: unknown): string {
  const isBare = typeof value === "number" || typeof value === "boolean";
  if (schema.type === "string" && isBare) {
    if (!schema.enum) return "quote it";
    return schema.enum.length > 8 ? `use a name such as ${schema.enum[0]}` : `use ${schema.enum.join(", ")}`;
  }
  const seconds = /\bseconds\b/i.test(schema.description ?? "") ? secondsIn(value) : undefined;
  if (seconds !== undefined) return `for seconds, write ${seconds}`;
  if (schema.type !== "string" && isQuoted(schema, value)) return "remove the quotes";
  if (schema.type === "array") return listForm(schema.items ?? {}, value);
  if (schema.type === "object") return objectForm(schema, value);
  return "";
}

/** Returns what to write in place of `{A: b}`, if the object has a name and a value: `{name: A, value: "..."}`. */
export function pairForm(schema: Schema, unknown: string[], present: string[]): string | undefined {
  const [name] = unknown;
  return isPair(schema) && name !== undefined && present.length === 1 ? `write ${pair(name)}` : undefined;
}

function isQuoted({ type }: Schema, value: unknown): boolean {
  if (typeof value !== "string") return false;
  return type === "boolean"
    ? /^(true|false)$/.test(value)
    : type !== "object" && type !== "array" && /^-?\d+$/.test(value);
}

function listForm(item: Schema, value: unknown): string {
  const [first] = isObject(value) ? Object.keys(value) : [];
  if (isPair(item) && first !== undefined) return `write [${pair(first)}, ...]`;
  if (isPair(item) && typeof value === "string") {
    return `write [${pair(/^([^=]+)=/.exec(value)?.[1] ?? "")}, ...]`;
  }
  if (item.properties?.port && typeof value === "number") return `write [{port: ${value}}]`;
  if (item.properties?.port && first !== undefined) return `write [{name: ${plain(first)}, port: ...}, ...]`;
  if (item.type === "object" && isObject(value)) return "begin each item with a dash: [{...}, ...]";
  if (item.type !== "string") return "";
  if (typeof value !== "string") return "write [WORD, ...]";
  const words = value.split(/\s+/).filter(Boolean);
  return value.length <= 100 && words.length > 0
    ? `write [${words.map(quote).join(", ")}]`
    : "write [WORD, ...]";
}

function objectForm(schema: Schema, value: unknown): string {
  if (isPair(schema) && typeof value === "string") return `write ${pair(/^([^=]+)=/.exec(value)?.[1] ?? "")}`;
  if (schema.properties?.port && schema.properties.path && typeof value === "string") {
    return `write {path: ${/^\/[\w./-]{0,100}$/.test(value) ? value : "/"}, port: ...}`;
  }
  const port = typeof value === "number" ? value : /^(?:\d+:)?(\d{1,5})$/.exec(textOf(value))?.[1];
  if (schema.properties?.port && port !== undefined) return `write {port: ${port}}`;
  if (schema.properties?.tcpSocket && typeof value === "string") {
    return "write {exec: {command: [WORD, ...]}}";
  }
  if (schema.additionalProperties && !schema.properties) return "write {NAME: VALUE}";
  const isCommand = schema.properties?.command !== undefined;
  return isCommand && (Array.isArray(value) || typeof value === "string")
    ? "write {command: [WORD, ...]}"
    : "";
}

/** What users of systemd and Go write: `30s`, `5m`, `1h`. */
function secondsIn(value: unknown): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,6})(s|sec|m|min|h|d)$/.exec(textOf(value)) ?? [];
  return amount === undefined ? undefined : Number(amount) * (units[unit[0] ?? ""] ?? 1);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

function isPair({ properties }: Schema): boolean {
  return properties?.name !== undefined && properties.value !== undefined;
}

function pair(name: string): string {
  return `{name: ${plain(name)}, value: "..."}`;
}

function plain(name: string): string {
  return /^[\w-]{1,64}$/.test(name) ? name : "NAME";
}
