/** One rule about the value at a place in the spec. */
export type Rule = {
  /** The value that the rule is about; `[]` stands for each item of a list. */
  at: string;
  /** The field below it that gets the blame, such as `shellFileSHA256`. */
  blames?: string;
  /** What to tell a person. A rule without CEL may find its words in the value. */
  message: string;
  /** The rule for API servers; absent where CEL cannot say it, or only at a cost that the server refuses. */
  cel?: string;
  /** True, or the words why not. */
  // deno-lint-ignore no-explicit-any
  holds: (self: any) => boolean | string;
};

/** CEL: exactly one of these fields is there. */
export function exactlyOneOf(...names: string[]): string {
  return `[${names.map((name) => `has(self.${name})`).join(", ")}].filter(given, given).size() == 1`;
}

/** Exactly one of these values is there. */
export function one(...values: unknown[]): boolean {
  return values.filter((value) => value !== undefined).length === 1;
}
