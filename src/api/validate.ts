import { checkRules } from "./check-rules.ts";
import { checkSchema, isObject } from "./check-schema.ts";
import { withDefaults } from "./defaults.ts";
import type { FieldError } from "./field-error.ts";
import { ncapp } from "./schema.ts";
import type { Schema } from "./schema-type.ts";
import { spec as specSchema } from "./schema/spec.ts";
import type { NCApp } from "./types.ts";

export type { FieldError } from "./field-error.ts";

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

/** True for a valid NCApp. */
export function isNCApp(object: unknown): object is NCApp {
  return validateNCApp(object).length === 0;
}
