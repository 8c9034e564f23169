/**
 * Changes a JSON sample as a value, not as text: another type, a missing or doubled field, a strange key, deep nesting. What comes
 * out is valid JSON, so that it reaches the code behind the parser.
 */
import type { Random } from "../random.ts";

/** Returns a changed copy of the JSON text, or undefined if it is not JSON. Of several JSON lines, one is changed. */
export function mutateTree(random: Random, text: string): string | undefined {
  const whole = parse(text);
  if (whole !== undefined) return JSON.stringify(changed(random, whole));
  const lines = text.split("\n");
  const at = random.below(lines.length);
  const line = parse(lines[at]!);
  if (line === undefined) return undefined;
  lines[at] = JSON.stringify(changed(random, line));
  return lines.join("\n");
}

type Box = { holder: Record<string, unknown> | unknown[]; key: string };

const strangeKeys = [
  "__proto__",
  "constructor",
  "toString",
  "",
  "a.b",
  "a\nb",
  "\u2028",
  "k".repeat(300),
  "0",
  "length",
];

function strangeValue(random: Random): unknown {
  return random.pick<() => unknown>([
    () => null,
    () => random.pick([true, false]),
    () => random.pick([0, -1, 0.5, 1e308, 2 ** 31, 2 ** 53, -(2 ** 53), 65_536, 101, 1e-9]),
    () =>
      random.pick([
        "",
        " ",
        "\0",
        "a\nb",
        "\u2028",
        "../../etc/passwd",
        "/",
        "100",
        "x".repeat(500),
        "\ud800",
      ]),
    () => [],
    () => ({}),
    () => [null],
    () => ({ toString: 1, valueOf: 2 }),
    () => field("__proto__", { polluted: 1 }),
    () => field(random.pick(strangeKeys), 1),
    () => nested(1 + random.below(random.oneIn(10) ? 500 : 5)),
    () => Array.from({ length: random.below(40) }, (_, i) => i),
  ])();
}

function changed(random: Random, value: unknown): unknown {
  const root = [value];
  const rounds = 1 + random.below(3);
  for (let round = 0; round < rounds; round++) {
    const boxes = boxesIn(root);
    const { holder, key } = random.pick(boxes);
    const old = (holder as Record<string, unknown>)[key];
    switch (random.below(7)) {
      case 0:
        if (Array.isArray(holder)) holder.splice(Number(key), 1);
        else delete holder[key];
        if (root.length === 0) root.push(null);
        break;
      case 1: {
        const other = random.pick(boxes);
        set(holder, key, structuredClone((other.holder as Record<string, unknown>)[other.key]));
        break;
      }
      case 2:
        if (!Array.isArray(holder)) set(holder, random.pick(strangeKeys), old);
        else holder.push(structuredClone(old));
        break;
      case 3:
        if (typeof old === "string") set(holder, key, strangeText(random, old));
        else set(holder, key, strangeValue(random));
        break;
      case 4:
        set(holder, key, random.oneIn(2) ? [old] : field(random.pick(strangeKeys), old));
        break;
      default:
        set(holder, key, strangeValue(random));
    }
  }
  return root[0];
}

function strangeText(random: Random, text: string): string {
  const at = random.below(text.length + 1);
  const piece = random.pick([
    "\0",
    "\n",
    "/",
    "..",
    "%",
    "\u2028",
    "é",
    " ",
    "0",
    "-",
    "A",
    ":",
    "@",
    "x".repeat(300),
  ]);
  return text.slice(0, at) + piece + text.slice(random.oneIn(2) ? at : Math.min(text.length, at + 1));
}

function boxesIn(root: unknown[]): Box[] {
  const boxes: Box[] = [];
  const walk = (holder: Box["holder"]) => {
    for (const key of Object.keys(holder)) {
      boxes.push({ holder, key });
      const value = (holder as Record<string, unknown>)[key];
      // Deep nests come from an earlier round: all their levels are the same.
      if (typeof value === "object" && value !== null && boxes.length < 2000) walk(value as Box["holder"]);
    }
  };
  walk(root);
  return boxes;
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { a: value };
  return value;
}

/** An own field, whatever its name. */
function set(holder: Box["holder"], key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

function field(key: string, value: unknown): object {
  const holder = {};
  set(holder, key, value);
  return holder;
}

function parse(text: string): unknown {
  if (!/^\s*[{["]/.test(text)) return undefined;
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}
