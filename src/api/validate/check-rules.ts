import { isObject } from "../../lib/objects.ts";
import { type FieldError, invalid, required } from "../field-error.ts";
import { type Rule, rules as appRules } from "../rules/rules.ts";

/** A list that is too long breaks a rule with each of its items. */
const maxPerRule = 100;

/**
 * Checks a spec with its defaults against the rules between fields. `errors` are the findings of the schema: a rule is
 * skipped if a value that it may read has the wrong type. `root` is the path of the spec.
 */
export function checkRules(
  spec: unknown,
  errors: readonly FieldError[],
  { rules = appRules, root = "spec" }: { rules?: readonly Rule[]; root?: string } = {},
): FieldError[] {
  const mistyped = errors.filter(({ reason }) => reason === "FieldValueTypeInvalid").map(({ field }) =>
    field
  );
  return rules.flatMap((rule) =>
    valuesAt(rule.at, spec, root)
      .filter(({ field }) => !mistyped.some((path) => isWithin(field, path)))
      .flatMap((place) => violation(rule, place))
      .slice(0, maxPerRule)
      // One error per field is enough: a malformed value also breaks the rules about it.
      .filter(({ field }) => !errors.some((error) => error.field === field))
  );
}

function isWithin(field: string, path: string): boolean {
  return path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);
}

type FieldValue = { field: string; value: unknown };

function violation(rule: Rule, { field, value: self }: FieldValue): FieldError[] {
  const result = rule.holds(self);
  if (result === true) return [];
  const detail = result === false ? rule.message : result;
  const blamed = rule.blames ? `${field}.${rule.blames}` : field;
  const value = rule.shows ? rule.shows(self) : rule.blames ? lookUp(self, rule.blames) : self;
  return [value === undefined ? required(blamed, detail) : invalid(blamed, value, detail)];
}

// spec.env[].valueFrom → the valueFrom of each item of env that sets it.
function valuesAt(at: string, spec: unknown, root: string): FieldValue[] {
  let values: FieldValue[] = [{ field: root, value: spec }];
  for (const step of at.split(".").slice(1)) {
    const name = step.replace("[]", "");
    values = values
      .map(({ field, value }) => ({
        field: `${field}.${name}`,
        value: isObject(value) ? value[name] : undefined,
      }))
      .filter(({ value }) => value !== undefined);
    if (step.endsWith("[]")) values = values.flatMap(itemsOf);
  }
  return values;
}

function itemsOf({ field, value }: FieldValue): FieldValue[] {
  return Array.isArray(value) ? value.map((item, i) => ({ field: `${field}[${i}]`, value: item })) : [];
}

function lookUp(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((at, name) => isObject(at) ? at[name] : undefined, value);
}
