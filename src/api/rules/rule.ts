import { quote } from "../field-error.ts";
import { maxLabelKeyLength, qualifiedName } from "../schema/schema.ts";

export type Rule = {
  /** The path of the value; `[]` means each item of a list. */
  at: string;
  /** The field below `at` to report, such as `shellFileSHA256`. Default: `at` itself. */
  blames?: string;
  /** The message. A rule without CEL may return a more specific one from `holds`. */
  message: string;
  /** The rule for API servers; absent if CEL cannot express it, or only at a cost that the server rejects. */
  cel?: string;
  /** What of the value to show in the message, and not the defaults in it; undefined if it lacks something. Default: all of it. */
  // deno-lint-ignore no-explicit-any
  shows?: (self: any) => unknown;
  /** Returns true if the rule holds, or else false or a message. */
  // deno-lint-ignore no-explicit-any
  holds: (self: any) => boolean | string;
};

/** The keys of a map of labels, which a schema cannot check. */
export function labelKeys(at: string, field: string): Rule {
  return {
    at,
    blames: field,
    message: "must have label keys such as 'app' or 'example.com/app'",
    holds: (self) => {
      const bad = Object.keys(self[field] ?? {}).find((key) => !isLabelKey(key));
      return bad === undefined || `${quote(bad)} is not a valid label key`;
    },
  };
}

/** The rules of a label selector, as the API server has for those of its own objects. */
export function labelSelectorRules(at: string): Rule[] {
  return [
    {
      at: `${at}.matchExpressions[]`,
      blames: "values",
      message: "must not be empty if operator is In or NotIn, and empty otherwise",
      cel: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
      holds: ({ operator, values = [] }: { operator: string; values?: string[] }) =>
        ["In", "NotIn"].includes(operator) === values.length > 0,
    },
    labelKeys(at, "matchLabels"),
  ];
}

function isLabelKey(key: string): boolean {
  return key.length <= maxLabelKeyLength && new RegExp(qualifiedName).test(key);
}

export function exactlyOneOf(at: string, names: readonly string[]): Rule {
  const given = (self: Record<string, unknown>) => names.filter((name) => self[name] !== undefined);
  return {
    at,
    message: `must have exactly one of ${names.join(", ")}`,
    cel: `[${names.map((name) => `has(self.${name})`).join(", ")}].filter(given, given).size() == 1`,
    shows: (self) => given(self).length > 0 ? given(self).join(" and ") : undefined,
    holds: (self) => given(self).length === 1,
  };
}
