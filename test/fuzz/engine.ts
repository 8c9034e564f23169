/**
 * A small fuzzer: derives inputs from samples, passes them to a parser, and checks the result.
 *
 * Guarantees: case N of a seed is the same input on every machine, whatever ran before. The same rules apply to all
 * parsers: the only errors are the declared ones, in one short line that names the place; no object of the language is
 * changed; what a target itself asserts holds; a case is over within its CPU time.
 * Caveat: a case that never ends cannot be stopped from within; `run.ts` watches from outside.
 */
import { Buffer } from "node:buffer";
import process from "node:process";
import type { Part } from "../harness/parts.ts";
import { createRandom, deriveSeed } from "../random.ts";
import { asBytes, mutateBytes } from "./mutate-bytes.ts";
import { mutateTree } from "./mutate-tree.ts";

/** A parser, or several that read the same bytes. */
export interface Target {
  name: string;
  /** The called functions, for display. */
  covers: readonly string[];
  /** Real inputs to start from. */
  samples: readonly string[];
  /** Keywords of the parser. */
  tokens?: readonly string[];
  /** Longest input; 64 KiB if absent. */
  maxBytes?: number;
  /** Whether samples are JSON and changed only as values, because the parser never sees other text. */
  treesOnly?: boolean;
  /** The error for refused input. Absent: problems are values, and any throw is a finding. */
  refusal?: Refusal;
  /** The real part without which it cannot run. */
  needs?: Part;
  open(): Session | Promise<Session>;
}

/** How a parser refuses input. */
export interface Refusal {
  /** The `name` of the errors; subclasses have other names, so that a TypeError is not a plain Error. */
  name: string;
  /** What every message must contain: the place, or the field. */
  says?: RegExp;
  /** 400 characters if absent. */
  maxLength?: number;
  /** Whether the reader typed the input, and sees the message on a terminal. */
  anyLines?: boolean;
}

/** A prepared target, with its files and servers. */
export interface Session {
  /** Throws if an assertion fails, or what the parser throws. */
  run(input: Uint8Array): unknown;
  close?(): void | Promise<void>;
}

/** The maximum CPU time of a case. Typical cases take some ten microseconds. */
export const slowMs = 1000;

/** A failed assertion of a target. */
export class Broken extends Error {
  override name = "Broken";
}

/** Asserts. */
export function holds(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Broken(what);
}

/** Asserts that a message is one line of a reasonable length. */
export function oneLine(text: string, what: string, maxLength = 400): void {
  if (text.length > maxLength) throw new Broken(`${what} has ${text.length} characters`);
  if (/[\u0000-\u001f]/.test(text)) {
    throw new Broken(`${what} is not one line: ${JSON.stringify(text.slice(0, 200))}`);
  }
}

/** Returns the input of a case. */
export function makeInput(target: Target, seed: number, number: number): Uint8Array {
  const { name, maxBytes = 65_536, treesOnly = false } = target;
  const random = createRandom(deriveSeed(seed, name, number));
  const material = materialOf(target);
  const sample = random.pick(material.samples);
  if (random.oneIn(50)) return Buffer.from(sample, "latin1");
  if (treesOnly || random.oneIn(2)) {
    const tree = mutateTree(random, Buffer.from(sample, "latin1").toString("utf8"));
    if (tree !== undefined && (treesOnly || !random.oneIn(4))) return Buffer.from(tree).subarray(0, maxBytes);
  }
  return Buffer.from(mutateBytes(random, sample, { ...material, maxBytes }), "latin1");
}

/** Runs one input; returns what is wrong, or undefined. */
export async function runCase(
  target: Target,
  session: Session,
  input: Uint8Array,
  cpuMs: () => number = processCpuMs,
): Promise<string | undefined> {
  const before = cpuMs();
  let problem: string | undefined;
  try {
    const result = session.run(input);
    if (result instanceof Promise) await result;
  } catch (error) {
    problem = judge(error, target.refusal);
  }
  const polluted = cleanPrototypes();
  const took = cpuMs() - before;
  return problem ?? polluted ?? (took > slowMs ? `took ${Math.round(took)} ms of CPU time` : undefined);
}

/** Returns what is wrong with a thrown value; undefined for a proper refusal. */
export function judge(error: unknown, refusal: Refusal | undefined): string | undefined {
  if (!(error instanceof Error)) return `threw ${String(error)}`;
  if (error instanceof Broken) return error.message;
  const shown = `${error.name}: ${error.message.slice(0, 200)}`;
  if (!refusal || error.name !== refusal.name) {
    return `threw ${shown}\n${error.stack?.split("\n").slice(1, 4).join("\n")}`;
  }
  try {
    const text = refusal.anyLines ? error.message.replaceAll(/[\u0000-\u001f]/g, " ") : error.message;
    oneLine(text, "the message of a refusal", refusal.maxLength);
  } catch (broken) {
    return (broken as Error).message;
  }
  return refusal.says && !refusal.says.test(error.message)
    ? `a refusal does not say where: ${shown}`
    : undefined;
}

interface ByteSamples {
  samples: string[];
  tokens: string[];
}

const materials = new WeakMap<Target, ByteSamples>();

function materialOf(target: Target): ByteSamples {
  const known = materials.get(target);
  if (known) return known;
  const made = { samples: target.samples.map(asBytes), tokens: (target.tokens ?? []).map(asBytes) };
  materials.set(target, made);
  return made;
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Reports properties that a case left on the built-in prototypes, and removes them. */
function cleanPrototypes(): string | undefined {
  for (const prototype of [Object.prototype, Array.prototype, Function.prototype] as object[]) {
    for (const name in prototype) {
      delete (prototype as Record<string, unknown>)[name];
      return `changed a prototype: ${JSON.stringify(name)}`;
    }
  }
  return undefined;
}
