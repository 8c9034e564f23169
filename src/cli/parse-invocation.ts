import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { closest } from "../lib/closest.ts";
import { ownValue } from "../lib/objects.ts";
import { type Command, type Flag, type FlagValues, type Invocation, UsageError } from "./command.ts";

/**
 * Splits words into flags and operands. An unknown flag is a UsageError that suggests the closest one. A switch may have a
 * value: `--standalone=false` overrides the config file.
 */
export function parseInvocation(
  { flags: own, operands, ownOperands, otherFlags = {} }: Pick<
    Command,
    "flags" | "operands" | "ownOperands" | "otherFlags"
  >,
  typed: string[],
): Invocation {
  const flags: Record<string, Flag> = {
    ...own,
    help: { short: "h", help: "Show this help." },
  };
  const options: ParseArgsOptionsConfig = {};
  for (const [name, { value, list = false, short }] of Object.entries(flags)) {
    options[name] = {
      type: value ? "string" : "boolean",
      multiple: list,
      ...(short ? { short } : {}),
    };
  }
  const words = ownOperands === undefined ? typed : withSeparator(typed, options, ownOperands);
  const beforeOperands = words.slice(0, words.indexOf("--") < 0 ? undefined : words.indexOf("--"));
  const unknown = beforeOperands
    .map((word) => /^--([^=]+)/.exec(word)?.[1])
    .find((name) => name !== undefined && !Object.hasOwn(flags, name));
  if (unknown !== undefined) {
    const other = ownValue(otherFlags, `--${unknown}`);
    const hint = suggest(unknown, flags) +
      suggestSeparator(`--${unknown}`, beforeOperands, options, operands);
    throw new UsageError(`unknown flag --${unknown}${other ? `: ${other}` : hint}`);
  }
  const switchValues = readSwitchValues(beforeOperands, flags);
  // parseArgs does not support switches with a value.
  const args = words.map((word, index) => switchValues.has(index) ? word.slice(0, word.indexOf("=")) : word);
  try {
    const parsed = parseArgs({ args, options, allowPositionals: true, strict: true, tokens: true });
    const values = parsed.values as FlagValues;
    for (const token of parsed.tokens) {
      if (token.kind !== "option" || !isSwitch(flags[token.name])) continue;
      values[token.name] = switchValues.get(token.index) ?? true;
    }
    return { flags: values, args: parsed.positionals };
  } catch (cause) {
    const [message = ""] = (cause as Error).message.split(". ");
    const [, unknownShort] = /^Unknown option '-(.*)'$/.exec(message) ?? [];
    if (unknownShort !== undefined) {
      const other = ownValue(otherFlags, `-${unknownShort}`);
      const hint = suggestSeparator(`-${unknownShort}`, beforeOperands, options, operands);
      throw new UsageError(`unknown flag -${unknownShort}${other ? `: ${other}` : hint}`);
    }
    const [, typedFlag] =
      /^Option '(?:-\w, )?(-\S+)(?: <value>)?' argument (?:missing|is ambiguous)/.exec(message) ?? [];
    const flag = Object.entries(flags).find(([name, { short }]) =>
      typedFlag === `--${name}` || typedFlag === `-${short}`
    );
    throw new UsageError(flag ? missingValue(...flag, words) : message, { cause });
  }
}

function isSwitch(flag: Flag | undefined): boolean {
  return flag !== undefined && flag.value === undefined;
}

/** Says what a flag without its value needs. A value that starts with a dash, such as `--tail -1`, needs an equals sign. */
function missingValue(name: string, { short, value, choices }: Flag, words: string[]): string {
  const at = words.findLastIndex((word) => word === `--${name}` || word === `-${short}`);
  const next = at < 0 ? undefined : words[at + 1];
  const use = next?.startsWith("-") && next !== "--"
    ? `write --${name}=${next} if ${JSON.stringify(next)} is the value`
    : choices
    ? `use ${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`
    : `use --${name} ${value}`;
  return `--${name} needs a value: ${use}`;
}

function suggest(unknown: string, flags: Record<string, Flag>): string {
  const negated = unknown.startsWith("no-") ? ownValue(flags, unknown.slice("no-".length)) : undefined;
  if (isSwitch(negated)) return `; use --${unknown.slice("no-".length)}=false`;
  const near = closest(unknown, Object.keys(flags));
  return near ? `; did you mean --${near}?` : "";
}

/** A flag behind the script of `run` may be an argument of the script. */
function suggestSeparator(
  flag: string,
  words: string[],
  options: ParseArgsOptionsConfig,
  operands = "",
): string {
  const [, first] = /^(\S+) \[-- ARG/.exec(operands) ?? [];
  if (!first) return "";
  const { tokens } = parseArgs({ args: words, options, allowPositionals: true, strict: false, tokens: true });
  const script = tokens.find(({ kind }) => kind === "positional")?.index ?? Infinity;
  const isBehind = words.some((word, index) => index > script && word.startsWith(flag));
  return isBehind ? `; if it is for ${first}, write -- before it` : "";
}

/** Inserts the `--` that the user left out before another command line: `exec web ls -t`. */
function withSeparator(words: string[], options: ParseArgsOptionsConfig, ownOperands: number): string[] {
  if (words.includes("--")) return words;
  const { tokens } = parseArgs({ args: words, options, allowPositionals: true, strict: false, tokens: true });
  const first = tokens.filter(({ kind }) => kind === "positional")[ownOperands];
  return first ? words.toSpliced(first.index, 0, "--") : words;
}

/** The values of switches such as `--follow=false`, by index of the word. */
function readSwitchValues(words: string[], flags: Record<string, Flag>): Map<number, boolean> {
  const values = new Map<number, boolean>();
  for (const [index, word] of words.entries()) {
    const [, name = "", value = ""] = /^--([^=]+)=(.*)$/s.exec(word) ?? [];
    if (!isSwitch(ownValue(flags, name))) continue;
    if (value !== "true" && value !== "false") {
      throw new UsageError(`--${name} ${JSON.stringify(value)}: use true or false`);
    }
    values.set(index, value === "true");
  }
  return values;
}
