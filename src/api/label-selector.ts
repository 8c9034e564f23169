/**
 * Label selectors: the text that users type after `-l`, and the object that Kubernetes resources hold. Pure.
 *
 * The text is a list of requirements, all of which must hold: `app=web`, `app==web`, `app!=web`, `app in (web, db)`,
 * `app notin (web)`, `app`, `!app`. As in Kubernetes, `!=` and `notin` also match objects without the label, and an empty selector
 * matches everything.
 */
import { memoize } from "../lib/memoize.ts";
import { quote } from "./field-error.ts";
import { explainMismatch, labelValue, maxLabelKeyLength, qualifiedName } from "./schema/schema.ts";

export type LabelOperator = "In" | "NotIn" | "Exists" | "DoesNotExist";

export interface LabelRequirement {
  key: string;
  operator: LabelOperator;
  values?: string[];
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelRequirement[];
}

export type Labels = Readonly<Record<string, string>>;

const maxTextLength = 4096;
const forms =
  "use app=web, app!=web, 'app in (web,db)', 'app notin (web)', app or '!app', separated by commas";

/** Parses a selector. Throws an Error that quotes what is wrong. */
export function parseSelector(text: string): LabelSelector {
  if (text.length > maxTextLength) throw new Error(`a selector of ${text.length} characters is too long`);
  const matchExpressions = splitRequirements(text).map(parseRequirement);
  return matchExpressions.length > 0 ? { matchExpressions } : {};
}

/** Reports whether labels fulfill every requirement of a selector. */
export function matchesSelector(selector: LabelSelector, labels: Labels = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return Object.entries(matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    matchExpressions.every(({ key, operator, values }) =>
      matchesValues(operator, values, labelOf(labels, key))
    );
}

/** Reports whether the value of a label, undefined if it is missing, fulfills a requirement. */
export function matchesValues(
  operator: LabelOperator,
  values: readonly string[] = [],
  value: string | undefined,
): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && isOneOf(values, value);
    case "NotIn":
      return value === undefined || !isOneOf(values, value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
  }
}

/** Every app may name hundreds of values, and is compared with thousands of nodes. */
function isOneOf(values: readonly string[], value: string): boolean {
  return values.length > 8 ? setOf(values).has(value) : values.includes(value);
}

const setOf = memoize((values: readonly string[]) => new Set(values));

/** Returns the value of a label. Inherited names such as `constructor` are not labels. */
export function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** Splits at commas outside of parentheses. */
function splitRequirements(text: string): string[] {
  if (text.trim() === "") return [];
  return text.split(/,(?![^()]*\))/).map((part) => part.trim());
}

function parseRequirement(part: string): LabelRequirement {
  const [, absent] = /^!\s*([^\s=!(),]+)$/.exec(part) ?? [];
  if (absent !== undefined) return { key: checkKey(absent, part), operator: "DoesNotExist" };
  const [, key = "", relation, rest = ""] =
    /^([^\s=!(),]+)\s*(?:(==|=|!=|\bin\b|\bnotin\b)\s*(.*))?$/s.exec(part) ??
      [];
  if (key === "") throw new Error(`${quote(part)} is not a requirement on a label: ${forms}`);
  checkKey(key, part);
  if (relation === undefined) return { key, operator: "Exists" };
  const operator = relation === "!=" || relation === "notin" ? "NotIn" : "In";
  const values = relation.endsWith("in") ? parseList(rest, part) : [rest];
  return { key, operator, values: values.map((value) => checkValue(value, part)) };
}

function parseList(text: string, part: string): string[] {
  const [, inside] = /^\(([^()]*)\)$/.exec(text) ?? [];
  if (inside === undefined) throw new Error(`${quote(part)}: expected values in parentheses; ${forms}`);
  return inside.split(",").map((value) => value.trim());
}

function checkKey(key: string, part: string): string {
  const name = key.slice(key.indexOf("/") + 1);
  if (key.length <= maxLabelKeyLength && name.length <= 63 && new RegExp(qualifiedName).test(key)) return key;
  throw new Error(`${quote(part)}: label key ${quote(key)} ${explainMismatch(qualifiedName, key)}`);
}

function checkValue(value: string, part: string): string {
  if (value.length <= 63 && new RegExp(labelValue).test(value)) return value;
  const why = value.length > 63 ? "must have at most 63 characters" : explainMismatch(labelValue, value);
  throw new Error(`${quote(part)}: label value ${quote(value)} ${why}`);
}
