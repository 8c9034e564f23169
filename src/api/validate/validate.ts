import { checkRules } from "./check-rules.ts";
import { checkSchema, isObject } from "./check-schema.ts";
import { withDefaults } from "./defaults.ts";
import type { FieldError } from "../field-error.ts";
import { findHiddenValues } from "./hidden-values.ts";
import { ncapp, type Schema, spec as specSchema } from "../schema/schema.ts";
import type { NCApp } from "../types.ts";

export { isObject } from "./check-schema.ts";
export { applyDefaults, withDefaults } from "./defaults.ts";

export type { FieldError } from "../field-error.ts";

// A status in a manifest is somebody's old output: the API server ignores it, and so do we.
const written: Schema = {
  ...ncapp,
  properties: { ...ncapp.properties, status: { "x-kubernetes-preserve-unknown-fields": true } },
};

/** Everything that is wrong with an object that wants to be an NCApp. Empty: it is one, and `isNCApp` agrees. */
export function validateNCApp(object: unknown): FieldError[] {
  const errors = checkSchema(written, object, "");
  if (!isObject(object) || !isObject(object.spec)) return errors;
  return [...errors, ...checkRules(withDefaults(specSchema, object.spec), errors)];
}

/**
 * Everything that is wrong with an object that a person hands in: also that it is a copy whose secrets are hidden, which no
 * schema can tell, since the API server has to take such copies as mirrors.
 */
export function validateWritten(object: unknown): FieldError[] {
  const errors = validateNCApp(object);
  const hidden = findHiddenValues(object).filter(({ field }) =>
    !errors.some((error) => error.field === field)
  );
  return [...errors, ...hidden];
}

/** True for a valid NCApp. */
export function isNCApp(object: unknown): object is NCApp {
  return validateNCApp(object).length === 0;
}
