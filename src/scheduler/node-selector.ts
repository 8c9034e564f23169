/** Whether the labels and the name of a node are as an app wants them, as for Pods. Pure. */
import type { NodeSelectorRequirement, NodeSelectorTerm } from "../api/types.ts";

type Labels = Readonly<Record<string, string>>;

/** True where one of the terms holds. */
export function matchesAny(terms: readonly NodeSelectorTerm[], labels: Labels, name: string): boolean {
  return terms.some((term) => matchesTerm(term, labels, name));
}

/** True where all requirements of a term hold; a term without any matches nothing. */
export function matchesTerm(term: NodeSelectorTerm, labels: Labels, name: string): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  return matchExpressions.length + matchFields.length > 0 &&
    matchExpressions.every((requirement) => holds(requirement, label(labels, requirement.key))) &&
    matchFields.every((requirement) => holds(requirement, name));
}

function holds(
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
      return isWhole(value) && isWhole(values[0]) && BigInt(value) > BigInt(values[0]);
    case "Lt":
      return isWhole(value) && isWhole(values[0]) && BigInt(value) < BigInt(values[0]);
  }
}

/** A label of a node; names such as `constructor` are no labels that it has. */
export function label(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function isWhole(text: string | undefined): text is string {
  return text !== undefined && /^-?\d{1,18}$/.test(text);
}
