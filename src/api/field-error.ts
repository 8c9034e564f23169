import { closest } from "../lib/closest.ts";
import { hiddenValue } from "./shown-spec.ts";

export type FieldError = {
  /** The path of the field, such as `spec.env[2].name`. */
  field: string;
  /** The kind of problem, as in the `causes` of a Kubernetes Status. */
  reason: FieldErrorReason;
  /** The whole message: `spec.cpuPCT: Invalid value: "200": must be …`. */
  message: string;
};

/** The reasons as the API server names them; FieldUnknown is what its strict decoding reports. */
export type FieldErrorReason =
  | "FieldValueInvalid"
  | "FieldValueTypeInvalid"
  | "FieldValueRequired"
  | "FieldValueNotSupported"
  | "FieldValueDuplicate"
  | "FieldUnknown";

/** The value has the right type, but the field does not accept it. */
export function invalid(field: string, value: unknown, detail: string): FieldError {
  return fieldError(field, "FieldValueInvalid", `Invalid value: ${quoteOf(field, value)}: ${detail}`);
}

export function wrongType(field: string, value: unknown, detail: string): FieldError {
  return fieldError(field, "FieldValueTypeInvalid", `Invalid value: ${quoteOf(field, value)}: ${detail}`);
}

export function required(field: string, detail = ""): FieldError {
  return fieldError(field, "FieldValueRequired", `Required value${detail && `: ${detail}`}`);
}

const mostListed = 8;

/** The value is not in the field's enum. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const near = closest(String(value), supported) ??
    supported.find((name) => name.endsWith(String(value).toUpperCase()));
  // Of a long list the one that was meant matters; without it, `explain` has the list.
  const detail = near !== undefined && supported.length > mostListed
    ? `did you mean ${quote(near)}?`
    : `supported values: ${supported.map(quote).join(", ")}${
      near === undefined ? "" : `: did you mean ${quote(near)}?`
    }`;
  return fieldError(field, "FieldValueNotSupported", `Unsupported value: ${quote(value)}: ${detail}`);
}

export function duplicate(field: string, value: unknown, detail = ""): FieldError {
  const text = `Duplicate value: ${quote(value)}${detail && `: ${detail}`}`;
  return fieldError(field, "FieldValueDuplicate", text);
}

/** `instead` says what to write; without it, a known name that is close is suggested. */
export function unknownField(
  field: string,
  name: string,
  known: readonly string[],
  instead?: string,
): FieldError {
  const hint = instead === undefined ? suggestion(name, known) : `: ${instead}`;
  return fieldError(field, "FieldUnknown", `Unknown field${hint}`);
}

/**
 * Returns the errors for the one who wrote the object: what is missing beside an unknown field is left out, since it may be there under
 * that name. What decides whether an object is valid needs all of them: agents accept unknown fields.
 */
export function withoutMisnamed(errors: readonly FieldError[]): FieldError[] {
  const parentOf = (field: string) => field.slice(0, Math.max(0, field.lastIndexOf(".")));
  const unknown = new Set(
    errors.filter(({ reason }) => reason === "FieldUnknown").map(({ field }) => parentOf(field)),
  );
  return errors.filter(({ field, reason }) =>
    reason !== "FieldValueRequired" || !unknown.has(field) && !unknown.has(parentOf(field))
  );
}

/** Returns the messages as one text: the first few, and how many more there are. An object may have as many problems as fields. */
export function joinMessages(problems: readonly { message: string }[], most = 20): string {
  const shown = problems.slice(0, most).map(({ message }) => message);
  return [...shown, ...(problems.length > most ? [`and ${problems.length - most} more`] : [])].join("; ");
}

/** Returns a value for a message: as JSON, without the credentials of a URL, at most 200 characters. */
export function quote(value: unknown): string {
  const text = JSON.stringify(withoutCredentials(value)) ?? String(value);
  return text.length > 200 ? `${text.slice(0, 200)}… (${text.length} characters)` : text;
}

// Messages end up in logs and in status, so they never show a value that may be secret. The placeholder of a mirror is none.
function quoteOf(field: string, value: unknown): string {
  if (!isSecret(field)) return quote(value);
  return value === hiddenValue ? hiddenValue : "(not shown)";
}

// Values of variables and headers, and any value in place of a list of them.
function isSecret(field: string): boolean {
  return /\.(env|httpHeaders)(\[\d+\](\.value)?)?$/.test(field);
}

function fieldError(field: string, reason: FieldErrorReason, text: string): FieldError {
  return { field, reason, message: field === "" ? text : `${field}: ${text}` };
}

// A URL such as https://user:password@host/ is invalid, and the message ends up in logs and in status.
function withoutCredentials(value: unknown): unknown {
  return typeof value === "string" ? value.replace(/(:\/\/)[^/?#]*@/g, "$1***@") : value;
}

function suggestion(name: string, known: readonly string[]): string {
  const near = closest(name, known);
  return near === undefined ? "" : `: did you mean ${quote(near)}?`;
}
