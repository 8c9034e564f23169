/**
 * Decides whether an object is a valid NCApp, as the API server does; `validate-set.ts` does the same for an NCAppSet.
 *
 * `check-schema.ts` checks it against the schema, `check-rules.ts` against the rules between fields, after `defaults.ts`
 * filled in the defaults. `hidden-values.ts` rejects copies whose secrets are hidden.
 */
import { checkRules } from "./check-rules.ts";
import { isObject } from "../../lib/objects.ts";
import { checkSchema } from "./check-schema.ts";
import { withDefaults } from "./defaults.ts";
import { type FieldError, withoutMisnamed } from "../field-error.ts";
import { findHiddenValues } from "./hidden-values.ts";
import { ncapp, type Schema, spec as specSchema } from "../schema/schema.ts";

export { checkSchema } from "./check-schema.ts";
export { applyDefaults, withDefaults } from "./defaults.ts";
export { validateNCAppSet } from "./validate-set.ts";
export { findPlaceholders } from "./hidden-values.ts";

export type { FieldError } from "../field-error.ts";

// A status in a manifest is old output: the API server ignores it, and so does the agent.
const written: Schema = {
  ...ncapp,
  properties: { ...ncapp.properties, status: { "x-kubernetes-preserve-unknown-fields": true } },
};

export function validateNCApp(object: unknown): FieldError[] {
  const errors = checkSchema(written, object, "");
  if (!isObject(object) || !isObject(object.spec)) return errors;
  return [...errors, ...checkRules(withDefaults(specSchema, object.spec), errors)];
}

/**
 * Returns everything that is wrong with an NCApp that a user wrote. Unlike `validateNCApp`, rejects copies whose secrets are
 * hidden; the API server has to accept these as mirrors.
 */
export function validateWritten(object: unknown): FieldError[] {
  const errors = validateNCApp(object);
  const hidden = findHiddenValues(object).filter(({ field }) =>
    !errors.some((error) => error.field === field)
  );
  return withoutMisnamed([...errors, ...hidden]);
}
