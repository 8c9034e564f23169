/**
 * From the words of a command line to a running command, its help, or a message that says what to type instead.
 */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { describeError } from "../lib/log.ts";
import { closest } from "../lib/closest.ts";
import { type Command, type Flag, type FlagValues, type Invocation, type Io, UsageError } from "./command.ts";

/** Finds a command by name; commands are loaded only when they are used. */
export interface CommandTable {
  /** A hidden command is called by the program itself, and shown to nobody. */
  [name: string]: { summary: string; hidden?: boolean; load: () => Promise<Command> };
}

/** The commands that are for people. */
export function visibleCommands(commands: CommandTable): CommandTable {
  return Object.fromEntries(Object.entries(commands).filter(([, { hidden }]) => !hidden));
}

const usualName = "nckubelet";
const helpWords = ["help", "--help", "-h"];
/** What other programs are asked by; it is there under every name of this one. */
const versionWord = "--version";

/** Runs what the words say and resolves to the exit code. `program` is what people type before them. */
export async function runCommandLine(
  words: string[],
  commands: CommandTable,
  io: Io,
  program: string = usualName,
): Promise<number> {
  const [name, ...rest] = words;
  if (name === undefined || helpWords.includes(name)) return await showHelp(rest[0], commands, io, program);
  const entry = name === versionWord ? { load: loadVersion } : own(commands, name);
  if (!entry) return refuseCommand(name, commands, io, program);
  const command = await entry.load();
  try {
    const invocation = parseInvocation(command, rest);
    if (invocation.flags.help) {
      io.stdout(helpOf(command, program));
      return 0;
    }
    return await command.run(invocation, io);
  } catch (error) {
    if (error instanceof UsageError) {
      return refuse(io, program, error.message, `${program} ${command.name}`);
    }
    io.stderr(`${program}: ${describeError(error)}\n`);
    return 1;
  }
}

/**
 * Splits words into flags and operands; a wrong flag is a UsageError with the one that was probably meant. A switch may have a value:
 * `--standalone=false` says no to what the config file says.
 */
export function parseInvocation(command: Command, typed: string[]): Invocation {
  const flags: Record<string, Flag> = {
    ...command.flags,
    help: { kind: "switch", short: "h", help: "Show this help." },
  };
  const options: ParseArgsOptionsConfig = {};
  for (const [name, { kind, short }] of Object.entries(flags)) {
    options[name] = {
      type: kind === "switch" ? "boolean" : "string",
      multiple: kind === "list",
      ...(short ? { short } : {}),
    };
  }
  const words = command.ownOperands === undefined ? typed : withEnd(typed, options, command.ownOperands);
  const beforeOperands = words.slice(0, words.indexOf("--") < 0 ? undefined : words.indexOf("--"));
  const unknown = beforeOperands
    .map((word) => /^--([^=]+)/.exec(word)?.[1])
    .find((name) => name !== undefined && !Object.hasOwn(flags, name));
  if (unknown !== undefined) {
    const near = closest(unknown, Object.keys(flags));
    throw new UsageError(`unknown flag --${unknown}${near ? `; did you mean --${near}?` : ""}`);
  }
  const said = switchValues(beforeOperands, flags);
  // parseArgs knows no switch with a value.
  const args = words.map((word, index) => said.has(index) ? word.slice(0, word.indexOf("=")) : word);
  try {
    const parsed = parseArgs({ args, options, allowPositionals: true, strict: true, tokens: true });
    const values = parsed.values as FlagValues;
    for (const token of parsed.tokens) {
      if (token.kind !== "option" || flags[token.name]?.kind !== "switch") continue;
      values[token.name] = said.get(token.index) ?? true;
    }
    return { flags: values, args: parsed.positionals };
  } catch (cause) {
    throw new UsageError((cause as Error).message.split(". ")[0] ?? "", { cause });
  }
}

/** The words with a `--` before those of another command, where the user left it out: `exec web ls -t`. */
function withEnd(words: string[], options: ParseArgsOptionsConfig, ownOperands: number): string[] {
  if (words.includes("--")) return words;
  const { tokens } = parseArgs({ args: words, options, allowPositionals: true, strict: false, tokens: true });
  const first = tokens.filter(({ kind }) => kind === "positional")[ownOperands];
  return first ? words.toSpliced(first.index, 0, "--") : words;
}

/** What switches are said to be, by the place of the word: `--follow=false`. */
function switchValues(words: string[], flags: Record<string, Flag>): Map<number, boolean> {
  const said = new Map<number, boolean>();
  for (const [index, word] of words.entries()) {
    const [, name = "", value = ""] = /^--([^=]+)=(.*)$/s.exec(word) ?? [];
    if (flags[name]?.kind !== "switch") continue;
    if (value !== "true" && value !== "false") {
      throw new UsageError(`--${name} ${JSON.stringify(value)}: use true or false`);
    }
    said.set(index, value === "true");
  }
  return said;
}

/** The help of one command. */
export function helpOf(
  { name, summary, operands, flags, examples }: Command,
  program: string = usualName,
): string {
  const rows = Object.entries(flags).map(([flag, { short, value, help, default: standard }]) => {
    const left = `  ${short ? `-${short}, ` : "    "}--${flag}${value ? ` ${value}` : ""}`;
    return `${left.padEnd(34)} ${help}${standard ? ` Default: ${standard}.` : ""}`;
  });
  return [
    summary,
    "",
    `Usage: ${program} ${name} [flags]${operands ? ` ${operands}` : ""}`,
    ...(rows.length > 0 ? ["", "Flags:", ...rows] : []),
    "",
    "Examples:",
    ...examples.map((example) => `  ${example}`),
    "",
  ].join("\n");
}

async function showHelp(
  name: string | undefined,
  commands: CommandTable,
  io: Io,
  program: string,
): Promise<number> {
  if (name === undefined || helpWords.includes(name)) {
    io.stdout(overviewOf(commands, program));
    return 0;
  }
  const entry = own(commands, name);
  if (!entry) return refuseCommand(name, commands, io, program);
  io.stdout(helpOf(await entry.load(), program));
  return 0;
}

function overviewOf(commands: CommandTable, program: string): string {
  const rows = Object.entries(visibleCommands(commands))
    .map(([command, { summary }]) => `  ${command.padEnd(12)} ${summary}`);
  return [
    "Runs applications that are not containerized under Kubernetes control.",
    "",
    `Usage: ${program} COMMAND [flags] [operands]`,
    "",
    "Commands:",
    ...rows,
    "",
    `${program} help COMMAND tells more about one.`,
    "",
  ].join("\n");
}

function own(commands: CommandTable, name: string): CommandTable[string] | undefined {
  return Object.hasOwn(commands, name) ? commands[name] : undefined;
}

async function loadVersion(): Promise<Command> {
  return (await import("./commands/version.ts")).versionCommand;
}

function refuseCommand(name: string, commands: CommandTable, io: Io, program: string): number {
  const near = closest(name, Object.keys(visibleCommands(commands)));
  const hint = near ? `; did you mean ${JSON.stringify(near)}?` : "";
  return refuse(io, program, `unknown command ${JSON.stringify(name)}${hint}`, program);
}

function refuse(io: Io, program: string, message: string, helpOn: string): number {
  io.stderr(`${program}: ${message}\nSee '${helpOn} --help'.\n`);
  return 2;
}
