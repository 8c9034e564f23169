/// <reference lib="dom" />
/** Creates elements. Text is only set as text, so that names and logs of apps never become markup. */

type Attributes = Record<string, string | undefined>;
type Child = Node | string | undefined;

/** Returns an HTML element with attributes and children; undefined attributes are left out. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  return fill(document.createElement(tag), attributes, children);
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

export function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** Sets the text only if it differs, so that screen readers announce real changes only. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Fills a list with one part per key, and returns the parts. Each stays the same element while its key is there. */
export function showParts<Part extends { element: HTMLElement }>(
  list: HTMLElement,
  parts: Map<string, Part>,
  keys: string[],
  create: (key: string) => Part,
): Part[] {
  const wanted = keys.map((key) => [key, parts.get(key) ?? create(key)] as const);
  parts.clear();
  for (const [key, part] of wanted) parts.set(key, part);
  const elements = wanted.map(([, { element }]) => element);
  // Moving an element would take the focus from it.
  const isSame = elements.length === list.children.length &&
    elements.every((element, index) => element === list.children[index]);
  if (!isSame) list.replaceChildren(...elements);
  return wanted.map(([, part]) => part);
}

function fill<T extends Element>(element: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}
