/**
 * Checks a value against a schema, as the API server does with a CRD.
 *
 * Guarantees: reports every problem, not only the first, in the order of the schema (at most 20 unknown fields per object).
 * An API server with the same schema accepts a value that passes. A field that is `null` counts as absent: the server drops
 * it. Unknown fields are errors; the server reports them only on request (kubectl requests it since 1.25).
 *
 * Caveat: does not check `format`. The server checks only date-time, which no field that users write has.
 */
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  quote,
  required,
  unknownField,
  wrongType,
} from "../field-error.ts";
import { isObject } from "../../lib/objects.ts";
import { formOf, pairForm } from "./other-forms.ts";
import { otherWord } from "./other-words.ts";
import { explainMismatch, maxLabelKeyLength, type Schema } from "../schema/schema.ts";

// A hostile document could hold a hundred thousand, and each is compared with every known name.
const maxUnknown = 20;

/** Returns what is wrong with `value`, the value at path `field`. */
export function checkSchema(schema: Schema, value: unknown, field: string): FieldError[] {
  if (schema["x-kubernetes-int-or-string"]) return checkIntOrString(schema, value, field);
  switch (schema.type) {
    case "string":
      return typeof value === "string"
        ? checkString(schema, value, field)
        : [wrongType(field, value, mustBe(schema, value))];
    case "integer":
    case "number":
      return isNumber(schema, value)
        ? checkNumber(schema, value, field)
        : [wrongType(field, value, mustBe(schema, value))];
    case "boolean":
      return typeof value === "boolean" ? [] : [wrongType(field, value, mustBe(schema, value))];
    case "array":
      return Array.isArray(value)
        ? checkArray(schema, value, field)
        : [wrongType(field, value, mustBe(schema, value))];
    case "object":
      return isObject(value)
        ? checkObject(schema, value, field)
        : [wrongType(field, value, mustBe(schema, value))];
    default:
      return [];
  }
}

function checkIntOrString(schema: Schema, value: unknown, field: string): FieldError[] {
  if (typeof value === "string") return checkString(schema, value, field);
  if (typeof value !== "number") {
    return [wrongType(field, value, `must be an integer or a string, not ${typeName(value)}`)];
  }
  if (!Number.isInteger(value)) {
    return [wrongType(field, value, `must be a string if it is a fraction: "${value}"`)];
  }
  return checkNumber(schema, value, field);
}

function checkString(schema: Schema, value: string, field: string): FieldError[] {
  if (schema.enum && !schema.enum.includes(value)) return [notSupported(field, value, schema.enum)];
  // The API server counts code points.
  const length = [...value].length;
  if (schema.minLength !== undefined && length < schema.minLength) {
    return [invalid(field, value, `must have at least ${schema.minLength} characters`)];
  }
  if (schema.maxLength !== undefined && length > schema.maxLength) {
    return [invalid(field, value, `must have at most ${schema.maxLength} characters`)];
  }
  if (schema.pattern !== undefined && !regexOf(schema.pattern).test(value)) {
    return [invalid(field, value, explainMismatch(schema.pattern, value))];
  }
  return [];
}

function checkNumber(schema: Schema, value: number, field: string): FieldError[] {
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum } = schema;
  if (value <= maximum && (exclusiveMinimum ? value > minimum : value >= minimum)) return [];
  const low = minimum === -Infinity ? undefined : exclusiveMinimum ? `more than ${minimum},` : `${minimum}`;
  const high = maximum === Infinity ? undefined : `${maximum}`;
  const range = low === undefined
    ? `at most ${high}`
    : high === undefined
    ? `at least ${low}`
    : low === high
    ? low
    : exclusiveMinimum
    ? `${low} and at most ${high}`
    : `${low} to ${high}`;
  return [invalid(field, value, `must be ${range}`)];
}

function checkArray(schema: Schema, value: unknown[], field: string): FieldError[] {
  const { items = {}, minItems = 0, maxItems = Infinity } = schema;
  if (value.length > maxItems) {
    return [invalid(field, `${value.length} items`, `must have at most ${maxItems} items`)];
  }
  const errors = value.length < minItems
    ? [invalid(field, value, `must have at least ${minItems} items`)]
    : [];
  value.forEach((item, i) => errors.push(...checkSchema(items, item, `${field}[${i}]`)));
  return [...errors, ...checkUnique(schema, value, field)];
}

function checkUnique(schema: Schema, value: unknown[], field: string): FieldError[] {
  const listType = schema["x-kubernetes-list-type"];
  if (listType !== "map" && listType !== "set") return [];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const seen = new Set<string>();
  return value.flatMap((item, i) => {
    const identity = listType === "set" ? item : identityOf(schema, item, keys);
    const text = JSON.stringify(identity);
    if (!seen.has(text)) return (seen.add(text), []);
    return [
      duplicate(`${field}[${i}]`, identity, keys.length > 0 ? `${keys.join(" and ")} must be unique` : ""),
    ];
  });
}

// The server fills in defaults before it compares.
function identityOf(schema: Schema, item: unknown, keys: readonly string[]): unknown {
  const fields = isObject(item) ? item : {};
  const values = keys.map((key) => [key, fields[key] ?? schema.items?.properties?.[key]?.default]);
  return Object.fromEntries(values);
}

function checkObject(schema: Schema, value: { [name: string]: unknown }, field: string): FieldError[] {
  const { properties = {}, required: needed = [], maxProperties = Infinity } = schema;
  const present = Object.keys(value).filter((name) => value[name] !== null && value[name] !== undefined);
  if (present.length > maxProperties) {
    return [invalid(field, `${present.length} entries`, `must have at most ${maxProperties} entries`)];
  }
  const known = Object.keys(properties).filter((name) => present.includes(name));
  const others = present.filter((name) => !Object.hasOwn(properties, name));
  const form = pairForm(schema, others, present);
  if (form !== undefined) return [invalid(field, others[0], form)];
  return [
    ...needed.filter((name) => !present.includes(name)).map((name) => required(child(field, name))),
    ...known.flatMap((name) => checkSchema(properties[name]!, value[name], child(field, name))),
    ...checkOthers(schema, value, others, field),
  ];
}

function checkOthers(
  schema: Schema,
  value: { [name: string]: unknown },
  names: readonly string[],
  field: string,
): FieldError[] {
  const { additionalProperties, properties = {} } = schema;
  if (additionalProperties) {
    return names.flatMap((name) =>
      checkSchema(additionalProperties, value[name], `${field}[${shown(name)}]`)
    );
  }
  if (schema["x-kubernetes-preserve-unknown-fields"]) return [];
  const known = Object.keys(properties);
  return names.slice(0, maxUnknown).map((name) => {
    const path = child(field, name);
    const isOutside = field === "" && Object.hasOwn(properties.spec?.properties ?? {}, name);
    return unknownField(path, name, known, isOutside ? "write it in spec" : otherWord(path, known));
  });
}

function child(field: string, name: string): string {
  return field === "" ? shown(name) : `${field}.${shown(name)}`;
}

// Keeps messages on one line of bounded length, whatever the keys of an object are.
function shown(name: string): string {
  if (!/^[!-~]+$/.test(name)) return quote(name);
  return name.length > maxLabelKeyLength ? `${name.slice(0, maxLabelKeyLength)}…` : name;
}

function isNumber(schema: Schema, value: unknown): value is number {
  return schema.type === "integer" ? Number.isInteger(value) : Number.isFinite(value);
}

function mustBe(schema: Schema, value: unknown): string {
  const names = {
    object: "an object",
    array: "a list",
    string: "a string",
    integer: "an integer",
    number: "a number",
  };
  const wanted = schema.type === "boolean" ? "true or false" : names[schema.type ?? "object"];
  const form = formOf(schema, value);
  const isFraction = schema.type === "integer" && typeof value === "number";
  return `must be ${wanted}, not ${isFraction ? "a fraction" : typeName(value)}${form && `: ${form}`}`;
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  const name = typeof value;
  return name === "object" ? "an object" : `a ${name}`;
}

const regexes = new Map<string, RegExp>();

function regexOf(pattern: string): RegExp {
  let regex = regexes.get(pattern);
  // With "u", a class such as [^/] takes a whole code point, as in RE2.
  if (!regex) regexes.set(pattern, regex = new RegExp(pattern, "u"));
  return regex;
}
