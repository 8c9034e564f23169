/**
 * Changes a sample as accidents and attackers would: bytes, tokens, numbers, lines, cuts, repeats, nesting.
 *
 * Bytes travel as text of one character per byte (latin1): text has the operations that this needs.
 */
import { Buffer } from "node:buffer";
import type { Random } from "../random.ts";

/** Material to combine a sample with. */
export interface Material {
  /** Other samples of the same parser. */
  samples: readonly string[];
  /** Keywords of the parser. */
  tokens: readonly string[];
  maxBytes: number;
}

/** Returns a string with one character per byte of the UTF-8 text. */
export function asBytes(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** Returns a changed sample, never longer than `maxBytes`. */
export function mutateBytes(random: Random, sample: string, material: Material): string {
  let text = sample;
  const rounds = 1 + random.below(random.oneIn(4) ? 12 : 3);
  for (let round = 0; round < rounds; round++) {
    text = random.pick(operations)(random, text, material).slice(0, material.maxBytes);
  }
  // Rare, since it costs a thousand times an ordinary case; but only long inputs show what grows with their square.
  return random.oneIn(150) ? stretch(random, text, material) : text;
}

type Operation = (random: Random, text: string, material: Material) => string;

const oddities = [
  ...["\0", "\ufeff", "\u2028", "\u202e", "\u0301", "\ud83d\ude00", "\uff11", "\u0130", "\u00df", "\u200b"],
  ...[
    "\r\n",
    "\n",
    "\t",
    "\x1b[31m",
    "\x7f",
    "\\",
    '"',
    "'",
    "`",
    "%",
    "${x}",
    "%00",
    "%2e%2e%2f",
    "../",
    "//",
  ],
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "null", "NaN", "Infinity", "-0", "true"],
].map(asBytes).concat(["\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"]);

const numbers = [
  ...["0", "-1", "1", "255", "256", "65535", "65536", "2147483647", "2147483648", "4294967295", "4294967296"],
  ...["9007199254740991", "9007199254740993", "18446744073709551615", "1e308", "1e309", "-1e309", "5e-324"],
  ...["0x10", "0b1", "0o7", "1_000", "٣", "1.", ".5", "00", "+1", "1e400", "99999999999999999999999999"],
].map(asBytes);

const brackets = [["{", "}"], ["[", "]"], ['{"a":', "}"], ["- ", ""], ["(", ")"], ["<", ">"], [
  '"',
  '"',
]] as const;

const operations: readonly Operation[] = [
  function changeByte(random, text) {
    const at = random.below(text.length);
    return text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + 1);
  },
  function flipBit(random, text) {
    const at = random.below(text.length);
    return text.slice(0, at) + String.fromCharCode((text.charCodeAt(at) || 0) ^ (1 << random.below(8))) +
      text.slice(at + 1);
  },
  function cutOut(random, text) {
    const [start, end] = range(random, text);
    return text.slice(0, start) + text.slice(end);
  },
  function breakOff(random, text) {
    return text.slice(0, random.below(text.length + 1));
  },
  function double(random, text) {
    const [start, end] = range(random, text);
    return text.slice(0, end) + text.slice(start, end).repeat(1 + random.below(4)) + text.slice(end);
  },
  function insertOddity(random, text) {
    return insert(random, text, random.pick(oddities));
  },
  function insertToken(random, text, { tokens }) {
    return insert(random, text, random.pick(tokens.length > 0 ? tokens : oddities));
  },
  function replaceWord(random, text, { tokens, samples }) {
    const donor = words(random.pick(samples));
    const by = random.pick([random.pick(oddities), ...tokens, ...(donor.length > 0 ? [donor[0]!] : [])]);
    return replaceOne(random, text, /[A-Za-z_][\w.-]*/g, by);
  },
  function replaceNumber(random, text) {
    return replaceOne(random, text, /-?\d+(?:\.\d+)?/g, random.pick(numbers));
  },
  function splice(random, text, { samples }) {
    const other = random.pick(samples);
    return text.slice(0, random.below(text.length + 1)) + other.slice(random.below(other.length + 1));
  },
  function nest(random, text) {
    const [open, close] = random.pick(brackets);
    const [start, end] = range(random, text);
    const depth = 1 + random.below(random.oneIn(20) ? 2000 : 5);
    return text.slice(0, start) + open.repeat(depth) + text.slice(start, end) + close.repeat(depth) +
      text.slice(end);
  },
  function moveLine(random, text) {
    const lines = text.split("\n");
    const [line = ""] = lines.splice(random.below(lines.length), 1);
    lines.splice(
      random.below(lines.length + 1),
      0,
      ...(random.oneIn(3) ? [] : random.oneIn(2) ? [line] : [line, line]),
    );
    return lines.join("\n");
  },
];

/** Repeats a short piece up to the maximum length. */
function stretch(random: Random, text: string, { maxBytes, tokens }: Material): string {
  const at = random.below(text.length);
  const cut = text.slice(at, at + 1 + random.below(8));
  const piece = random.pick([cut, random.pick(oddities), tokens.length > 0 ? random.pick(tokens) : cut]) ||
    "a";
  const room = Math.max(0, maxBytes - text.length);
  return text.slice(0, at) + piece.repeat(Math.floor(room / piece.length)) + text.slice(at);
}

function insert(random: Random, text: string, piece: string): string {
  const at = random.below(text.length + 1);
  return text.slice(0, at) + piece + text.slice(at);
}

function range(random: Random, text: string): [start: number, end: number] {
  const start = random.below(text.length + 1);
  const longest = random.oneIn(3) ? text.length - start : Math.min(8, text.length - start);
  return [start, start + random.below(longest + 1)];
}

function words(text: string): string[] {
  return text.match(/[A-Za-z_][\w.-]*/g) ?? [];
}

function replaceOne(random: Random, text: string, pattern: RegExp, by: string): string {
  const found = [...text.slice(0, 20_000).matchAll(pattern)];
  if (found.length === 0) return insert(random, text, by);
  const { index, 0: match } = random.pick(found);
  return text.slice(0, index) + by + text.slice(index + match.length);
}
