/** Finds the selectors that match an app without trying all: most name a label and its value. */
import { type Labels, type LabelSelector, matchesSelector } from "../../api/label-selector.ts";
import type { AppSelector } from "../types.ts";

export class SelectorIndex<Item extends { readonly selector: AppSelector }> {
  /** By namespace, and by a label that the selector requires; empty if it requires none. */
  readonly #items = new Map<string, Map<string, Set<Item>>>();

  add(item: Item): void {
    const { namespace, match } = item.selector;
    let pairs = this.#items.get(namespace);
    if (!pairs) this.#items.set(namespace, pairs = new Map());
    const pair = requiredPair(match);
    const items = pairs.get(pair);
    if (items) items.add(item);
    else pairs.set(pair, new Set([item]));
  }

  remove(item: Item): void {
    const { namespace, match } = item.selector;
    const pairs = this.#items.get(namespace);
    const items = pairs?.get(requiredPair(match));
    if (!pairs || !items?.delete(item) || items.size > 0) return;
    pairs.delete(requiredPair(match));
    if (pairs.size === 0) this.#items.delete(namespace);
  }

  matching(namespace: string, labels: Labels): Item[] {
    const pairs = this.#items.get(namespace);
    if (!pairs) return [];
    const found: Item[] = [];
    for (const pair of ["", ...Object.entries(labels).map(pairText)]) {
      for (const item of pairs.get(pair) ?? []) {
        if (matchesSelector(item.selector.match, labels)) found.push(item);
      }
    }
    return found;
  }
}

function requiredPair({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const [pair] = Object.entries(matchLabels);
  if (pair) return pairText(pair);
  const single = matchExpressions.find(({ operator, values }) => operator === "In" && values?.length === 1);
  return single ? pairText([single.key, single.values![0]!]) : "";
}

function pairText([key, value]: [string, string]): string {
  return `${key}=${value}`;
}
