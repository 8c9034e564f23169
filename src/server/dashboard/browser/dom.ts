/// <reference lib="dom" />
/**
 * Makes elements. Text is only ever set as text, so that what an app is called or has written can never become markup.
 */

type Attributes = Record<string, string | undefined>;
type Child = Node | string | undefined;

/** An HTML element with attributes and children; an attribute that is undefined is left out. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** The element of the page with this id. */
export function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** Sets the text only where it differs: an element that is read aloud when it changes stays quiet else. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

function fill<T extends Element>(element: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}
