import { isObject } from "./check-schema.ts";
import { type FieldError, invalid, required } from "../field-error.ts";
import { type Rule, rules } from "../rules/rules.ts";

/**
 * What the rules between fields find in a spec with its defaults. `errors` is what the schema found: a rule is left
 * out where a value that it may look at has the wrong type, since it could only guess.
 */
export function checkRules(spec: unknown, errors: readonly FieldError[]): FieldError[] {
  const mistyped = errors.filter(({ reason }) => reason === "FieldValueTypeInvalid").map(({ field }) =>
    field
  );
  return rules.flatMap((rule) =>
    placesOf(rule.at, spec)
      .filter(({ field }) => !mistyped.some((bad) => isWithin(field, bad)))
      .flatMap((place) => breach(rule, place))
      // One trouble with a field is enough: a value of the wrong form breaks the rules about it, too.
      .filter(({ field }) => !errors.some((error) => error.field === field))
  );
}

function isWithin(field: string, other: string): boolean {
  return other === field || other.startsWith(`${field}.`) || other.startsWith(`${field}[`);
}

type Place = { field: string; value: unknown };

function breach(rule: Rule, { field, value: self }: Place): FieldError[] {
  const verdict = rule.holds(self);
  if (verdict === true) return [];
  const detail = verdict === false ? rule.message : verdict;
  const blamed = rule.blames ? `${field}.${rule.blames}` : field;
  const value = rule.blames ? lookUp(self, rule.blames) : self;
  return [value === undefined ? required(blamed, detail) : invalid(blamed, value, detail)];
}

// spec.env[].valueFrom → the valueFrom of each item of env that has one.
function placesOf(at: string, spec: unknown): Place[] {
  let places: Place[] = [{ field: "spec", value: spec }];
  for (const step of at.split(".").slice(1)) {
    const name = step.replace("[]", "");
    places = places
      .map(({ field, value }) => ({
        field: `${field}.${name}`,
        value: isObject(value) ? value[name] : undefined,
      }))
      .filter(({ value }) => value !== undefined);
    if (step.endsWith("[]")) places = places.flatMap(itemsOf);
  }
  return places;
}

function itemsOf({ field, value }: Place): Place[] {
  return Array.isArray(value) ? value.map((item, i) => ({ field: `${field}[${i}]`, value: item })) : [];
}

function lookUp(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((at, name) => isObject(at) ? at[name] : undefined, value);
}
