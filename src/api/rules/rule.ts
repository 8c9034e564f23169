export type Rule = {
  /** The path of the value; `[]` means each item of a list. */
  at: string;
  /** The field below `at` to report, such as `shellFileSHA256`. Default: `at` itself. */
  blames?: string;
  /** The message. A rule without CEL may return a more specific one from `holds`. */
  message: string;
  /** The rule for API servers; absent if CEL cannot express it, or only at a cost that the server rejects. */
  cel?: string;
  /** Returns true if the rule holds, or else false or a message. */
  // deno-lint-ignore no-explicit-any
  holds: (self: any) => boolean | string;
};

export function exactlyOneOf(at: string, names: readonly string[]): Rule {
  return {
    at,
    message: `must have exactly one of ${names.join(", ")}`,
    cel: `[${names.map((name) => `has(self.${name})`).join(", ")}].filter(given, given).size() == 1`,
    holds: (self) => names.filter((name) => self[name] !== undefined).length === 1,
  };
}
