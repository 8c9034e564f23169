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

/** Runs what the words say and resolves to the exit code. `program` is what people type before them. */
export async function runCommandLine(
  words: string[],
  commands: CommandTable,
  io: Io,
  program: string = usualName,
): Promise<number> {
  const [name, ...rest] = words;
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    io.stdout(await overviewOrHelp(program, rest[0], commands));
    return 0;
  }
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!entry) {
    const hint = suggest(name, Object.keys(visibleCommands(commands)));
    return refuse(io, program, `unknown command ${JSON.stringify(name)}${hint}`, program);
  }
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

/** Splits words into flags and operands; a wrong flag is a UsageError with the one that was probably meant. */
export function parseInvocation(command: Command, words: string[]): Invocation {
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
  const unknown = words.slice(0, words.indexOf("--") < 0 ? undefined : words.indexOf("--"))
    .map((word) => /^--([^=]+)/.exec(word)?.[1])
    .find((name) => name !== undefined && !Object.hasOwn(flags, name));
  if (unknown !== undefined) {
    const near = closest(unknown, Object.keys(flags));
    throw new UsageError(`unknown flag --${unknown}${near ? `; did you mean --${near}?` : ""}`);
  }
  try {
    const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true, strict: true });
    return { flags: values as FlagValues, args: positionals };
  } catch (cause) {
    throw new UsageError((cause as Error).message.split(". ")[0] ?? "", { cause });
  }
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

async function overviewOrHelp(
  program: string,
  name: string | undefined,
  commands: CommandTable,
): Promise<string> {
  if (name !== undefined && Object.hasOwn(commands, name)) {
    return helpOf(await commands[name]!.load(), program);
  }
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

function refuse(io: Io, program: string, message: string, helpOn: string): number {
  io.stderr(`${program}: ${message}\nSee '${helpOn} --help'.\n`);
  return 2;
}

function suggest(word: string, known: string[]): string {
  const near = closest(word, known);
  return near ? `; did you mean ${JSON.stringify(near)}?` : "";
}
