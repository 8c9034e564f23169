/**
 * Decides whether an object is a valid NCAppSet: its own schema and rules, those of NCApp for its template, and for what each
 * override makes of the template.
 */
import { applyMergePatch, isDeeperThan, isObject } from "../../lib/objects.ts";
import { type FieldError, invalid } from "../field-error.ts";
import { setRules } from "../rules/rules.ts";
import { ncappset, type Schema, setSpec, templateSpec } from "../schema/schema.ts";
import { checkRules } from "./check-rules.ts";
import { checkSchema } from "./check-schema.ts";
import { withDefaults } from "./defaults.ts";

const written: Schema = {
  ...ncappset,
  properties: { ...ncappset.properties, status: { "x-kubernetes-preserve-unknown-fields": true } },
};
/** More than any field of the template has. */
const maxDepth = 32;
const templatePath = "spec.template.spec";

export function validateNCAppSet(object: unknown): FieldError[] {
  const errors = checkSchema(written, object, "");
  if (!isObject(object) || !isObject(object.spec)) return errors;
  // Rules read many fields: one of the wrong type makes their answers meaningless.
  if (errors.length > 0) return errors;
  const spec = withDefaults(setSpec, object.spec) as { template: { spec: object }; overrides?: Override[] };
  const found = [
    ...checkRules(spec, errors, { rules: setRules }),
    ...checkRules(spec.template.spec, errors, { root: templatePath }),
  ];
  return found.length > 0
    ? found
    : (spec.overrides ?? []).flatMap((override, index) =>
      checkOverride(spec.template.spec, override, `spec.overrides[${index}].patch.spec`)
    );
}

interface Override {
  patch: { spec?: unknown };
}

/** The template is valid, so whatever is wrong with the result comes from the override. */
function checkOverride(template: object, { patch }: Override, field: string): FieldError[] {
  // The API server stores it unread, up to 10,000 levels.
  if (isDeeperThan(maxDepth, patch.spec)) {
    return [invalid(field, "…", `must not be nested more than ${maxDepth} levels deep`)];
  }
  const result = applyMergePatch(template, patch.spec ?? {});
  const errors = checkSchema(templateSpec, result, field);
  return [...errors, ...checkRules(withDefaults(templateSpec, result), errors, { root: field })];
}
