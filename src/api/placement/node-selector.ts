/** Matches the labels and the name of a node against node selector terms, as for Pods. Pure. */
import { labelOf, type Labels, matchesValues } from "../label-selector.ts";
import type { NodeSelectorRequirement, NodeSelectorTerm } from "../types.ts";

export function matchesAny(terms: readonly NodeSelectorTerm[], labels: Labels, name: string): boolean {
  return terms.some((term) => matchesTerm(term, labels, name));
}

/** An empty term matches nothing. */
export function matchesTerm(term: NodeSelectorTerm, labels: Labels, name: string): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  return matchExpressions.length + matchFields.length > 0 &&
    matchExpressions.every((requirement) => matches(requirement, labelOf(labels, requirement.key))) &&
    matchFields.every((requirement) => matches(requirement, name));
}

function matches(
  { operator, values = [] }: Omit<NodeSelectorRequirement, "key">,
  value: string | undefined,
): boolean {
  switch (operator) {
    case "Gt":
      return isInteger(value) && isInteger(values[0]) && BigInt(value) > BigInt(values[0]);
    case "Lt":
      return isInteger(value) && isInteger(values[0]) && BigInt(value) < BigInt(values[0]);
    default:
      return matchesValues(operator, values, value);
  }
}

function isInteger(text: string | undefined): text is string {
  return text !== undefined && /^-?\d{1,18}$/.test(text);
}
