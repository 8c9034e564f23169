/** Matches the labels and the name of a node against node selector terms, as for Pods. Pure. */
import type { NodeSelectorRequirement, NodeSelectorTerm } from "../api/types.ts";

type Labels = Readonly<Record<string, string>>;

export function matchesAny(terms: readonly NodeSelectorTerm[], labels: Labels, name: string): boolean {
  return terms.some((term) => matchesTerm(term, labels, name));
}

/** An empty term matches nothing. */
export function matchesTerm(term: NodeSelectorTerm, labels: Labels, name: string): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  return matchExpressions.length + matchFields.length > 0 &&
    matchExpressions.every((requirement) => matches(requirement, label(labels, requirement.key))) &&
    matchFields.every((requirement) => matches(requirement, name));
}

function matches(
  { operator, values = [] }: Omit<NodeSelectorRequirement, "key">,
  value: string | undefined,
): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return isInteger(value) && isInteger(values[0]) && BigInt(value) > BigInt(values[0]);
    case "Lt":
      return isInteger(value) && isInteger(values[0]) && BigInt(value) < BigInt(values[0]);
  }
}

/** Inherited names such as `constructor` are not labels. */
export function label(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function isInteger(text: string | undefined): text is string {
  return text !== undefined && /^-?\d{1,18}$/.test(text);
}
