import { closest } from "../lib/closest.ts";
import { hiddenValue } from "./shown-spec.ts";

/** One thing that is wrong with one field. */
export type FieldError = {
  /** Where, such as `spec.env[2].name`. */
  field: string;
  /** Which value, without credentials and shortened where it is long; undefined where a value is missing. */
  value: unknown;
  /** The kind of trouble, as in the `causes` of a Kubernetes Status. */
  reason: FieldErrorReason;
  /** The whole story for people: `spec.cpuPCT: Invalid value: "200": must be …`. */
  message: string;
};

/** The reasons, as the API server names them; FieldUnknown is what its strict decoding complains about. */
export type FieldErrorReason =
  | "FieldValueInvalid"
  | "FieldValueTypeInvalid"
  | "FieldValueRequired"
  | "FieldValueNotSupported"
  | "FieldValueDuplicate"
  | "FieldUnknown";

/** The value is of the right type, but not one of those that the field takes. */
export function invalid(field: string, value: unknown, detail: string): FieldError {
  return fieldError(field, value, "FieldValueInvalid", `Invalid value: ${quoteOf(field, value)}: ${detail}`);
}

/** The value is of another type than the field. */
export function wrongType(field: string, value: unknown, detail: string): FieldError {
  return fieldError(
    field,
    value,
    "FieldValueTypeInvalid",
    `Invalid value: ${quoteOf(field, value)}: ${detail}`,
  );
}

/** The field must be there. */
export function required(field: string, detail = ""): FieldError {
  return fieldError(field, undefined, "FieldValueRequired", `Required value${detail && `: ${detail}`}`);
}

/** The value is none of the few that the field takes. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const hint = suggestion(String(value), supported);
  const detail = `supported values: ${supported.map(quote).join(", ")}${hint}`;
  return fieldError(field, value, "FieldValueNotSupported", `Unsupported value: ${quote(value)}: ${detail}`);
}

/** The value must come once and comes again. */
export function duplicate(field: string, value: unknown, detail = ""): FieldError {
  return fieldError(
    field,
    value,
    "FieldValueDuplicate",
    `Duplicate value: ${quote(value)}${detail && `: ${detail}`}`,
  );
}

/** There is no such field. */
export function unknownField(field: string, name: string, known: readonly string[]): FieldError {
  return fieldError(field, undefined, "FieldUnknown", `Unknown field${suggestion(name, known)}`);
}

/** A value for people: as JSON, without the credentials of a URL, not longer than a line or two. */
export function quote(value: unknown): string {
  const text = JSON.stringify(withoutCredentials(value)) ?? String(value);
  return text.length > 200 ? `${text.slice(0, 200)}… (${text.length} characters)` : text;
}

/** The value, unless it may be a secret: what is wrong with it ends up in logs and in status. */
function quoteOf(field: string, value: unknown): string {
  return isSecret(field) ? hiddenValue : quote(value);
}

/** Values of variables and of headers, and whatever stands where a list of them should be. */
function isSecret(field: string): boolean {
  return /\.(env|httpHeaders)(\[\d+\](\.value)?)?$/.test(field);
}

function fieldError(field: string, value: unknown, reason: FieldErrorReason, story: string): FieldError {
  return {
    field,
    // What comes twice is the name.
    value: isSecret(field) && reason !== "FieldValueDuplicate"
      ? hiddenValue
      : short(withoutCredentials(value)),
    reason,
    message: field === "" ? story : `${field}: ${story}`,
  };
}

// A URL such as https://user:password@host/ is refused, and the refusal ends up in logs and in status.
function withoutCredentials(value: unknown): unknown {
  return typeof value === "string" ? value.replace(/(:\/\/)[^/?#]*@/g, "$1***@") : value;
}

function short(value: unknown): unknown {
  return typeof value === "string" && value.length > 200 ? `${value.slice(0, 200)}…` : value;
}

function suggestion(name: string, known: readonly string[]): string {
  const near = closest(name, known);
  return near === undefined ? "" : `: did you mean ${quote(near)}?`;
}
