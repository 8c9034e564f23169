/** From a command line to a running command, its help, or a message that says what to type instead. */
import { closest } from "../lib/closest.ts";
import { describeError } from "../lib/log.ts";
import { ownValue } from "../lib/objects.ts";
import { type Command, type Invocation, type Io, UsageError } from "./command.ts";
import { parseInvocation } from "./parse-invocation.ts";

/** An entry in a table of commands. The command itself is loaded only when it is used. */
export interface CommandEntry {
  /** One line for help and completion: what the command does, as an imperative. */
  summary: string;
  /** Called by the program itself: help, completion and suggestions leave it out. */
  hidden?: boolean;
  load: () => Promise<Command>;
}

export type CommandTable = Record<string, CommandEntry>;

export function visibleCommands(commands: CommandTable): CommandTable {
  return Object.fromEntries(Object.entries(commands).filter(([, { hidden }]) => !hidden));
}

const helpWords = ["help", "--help", "-h"];
/** Works under every name of the program, since other programs check it. */
const versionEntry: CommandEntry = {
  summary: "Print the version.",
  load: async () => (await import("./commands/version.ts")).versionCommand,
};

/** Runs the command line and resolves to the exit code. `program` is what the user types before the command. */
export async function runCommandLine(
  words: string[],
  commands: CommandTable,
  io: Io,
  program: string = "nckubelet",
): Promise<number> {
  const [name, ...rest] = await commandFirst(words, commands);
  if (name === undefined || helpWords.includes(name)) return await showHelp(rest[0], commands, io, program);
  const entry = name === "--version" ? versionEntry : ownValue(commands, name);
  if (!entry) return refuseCommand(name, commands, io, program);
  const command = await entry.load();
  try {
    const invocation = parseInvocation(command, rest);
    if (invocation.flags.help) {
      io.stdout(helpText(`${program} ${name}`, entry.summary, command));
      return 0;
    }
    checkOperands(name, command, invocation);
    return await command.run(invocation, io);
  } catch (error) {
    if (error instanceof UsageError) return refuse(io, program, error.message, `${program} ${name}`);
    io.stderr(`${program}: ${describeError(error)}\n`);
    return 1;
  }
}

/** Moves the command before flags that precede it, as in `nckubelet --socket PATH ps`. */
async function commandFirst(words: string[], commands: CommandTable): Promise<string[]> {
  const [first = ""] = words;
  if (!first.startsWith("-") || helpWords.includes(first) || first === "--version") return words;
  for (const [index, word] of words.entries()) {
    const entry = ownValue(commands, word);
    if (!entry) continue;
    const before = words.slice(0, index);
    try {
      // The value of a flag may have the name of a command: then it is not a word of its own.
      if (parseInvocation(await entry.load(), [...before, word]).args.length === 0) continue;
    } catch {
      // The flags are not those of this command. It says so itself.
    }
    return [word, ...before, ...words.slice(index + 1)];
  }
  return words;
}

function checkOperands(name: string, { operands, operandHint }: Command, { args }: Invocation): void {
  if (operands !== undefined || args.length === 0) return;
  const hint = operandHint ? `; ${operandHint}` : "";
  throw new UsageError(`${name} takes no operands, not ${JSON.stringify(args[0])}${hint}`);
}

async function showHelp(
  name: string | undefined,
  commands: CommandTable,
  io: Io,
  program: string,
): Promise<number> {
  if (name === undefined || helpWords.includes(name)) {
    io.stdout(overview(commands, program));
    return 0;
  }
  const entry = ownValue(commands, name);
  if (!entry) return refuseCommand(name, commands, io, program);
  io.stdout(helpText(`${program} ${name}`, entry.summary, await entry.load()));
  return 0;
}

function helpText(call: string, summary: string, { operands, flags, examples }: Command): string {
  const usages = Object.entries(flags).map(([flag, { short, value }]) =>
    `  ${short ? `-${short}, ` : "    "}--${flag}${value ? ` ${value}` : ""}`
  );
  const width = Math.max(...usages.map(({ length }) => length)) + 2;
  const rows = Object.values(flags).map(({ help, default: standard }, index) =>
    `${usages[index]!.padEnd(width)}${help}${standard ? ` Default: ${standard}.` : ""}`
  );
  return [
    summary,
    "",
    ["Usage:", call, rows.length > 0 ? "[flags]" : "", operands ?? ""].filter(Boolean).join(" "),
    ...(rows.length > 0 ? ["", "Flags:", ...rows] : []),
    "",
    "Examples:",
    ...examples.map((example) => `  ${example}`),
    "",
  ].join("\n");
}

function overview(commands: CommandTable, program: string): string {
  const rows = Object.entries(visibleCommands(commands))
    .map(([command, { summary }]) => `  ${command.padEnd(12)} ${summary}`);
  return [
    "Run applications that are not containerized under the control of Kubernetes.",
    "",
    `Usage: ${program} COMMAND [flags] [operands]`,
    "",
    "Commands:",
    ...rows,
    "",
    `Use '${program} help COMMAND' for the flags and examples of a command.`,
    "",
  ].join("\n");
}

function refuseCommand(name: string, commands: CommandTable, io: Io, program: string): number {
  const known = Object.keys(visibleCommands(commands));
  if (name.startsWith("-")) return refuse(io, program, `no command is given, only ${name}`, program);
  const other = ownValue(otherCommands, name);
  // kubectl has what only the agent's own commands do here.
  const byKubectl = isNodeCommand(commands) ? undefined : ownValue(kubectlCommands, name);
  const near = known.find((command) => command === other) ?? closest(name, known) ??
    otherCommands[closest(name, Object.keys(otherCommands)) ?? ""];
  const hint = byKubectl ? `; use: ${byKubectl}` : near ? `; did you mean ${JSON.stringify(near)}?` : "";
  return refuse(io, program, `unknown command ${JSON.stringify(name)}${hint}`, program);
}

/** Commands of kubectl, docker and systemctl that are called otherwise here. */
const otherCommands: Record<string, string | undefined> = {
  list: "ps",
  ls: "ps",
  get: "ps",
  status: "ps",
  rm: "delete",
  remove: "delete",
  inspect: "describe",
  show: "describe",
  kill: "stop",
  stats: "top",
  create: "apply",
  check: "validate",
  enable: "start",
  disable: "stop",
  rollback: "undo",
  rollout: "undo",
  log: "logs",
  attach: "logs",
  journal: "logs",
  deploy: "apply",
  install: "apply",
};

/** What administrators do with NCApps by kubectl itself. */
const kubectlCommands: Record<string, string> = {
  apply: "kubectl apply -f FILE",
  create: "kubectl apply -f FILE",
  get: "kubectl get ncapp",
  edit: "kubectl edit ncapp NAME",
  delete: "kubectl delete ncapp NAME",
  rm: "kubectl delete ncapp NAME",
  explain: "kubectl explain ncapp.spec",
  events: "kubectl events --for ncapp/NAME",
  scale: "kubectl scale ncappset NAME --replicas=N",
  stop: `kubectl patch ncapp NAME --type merge -p '{"spec":{"suspend":true}}'`,
  start: `kubectl patch ncapp NAME --type merge -p '{"spec":{"suspend":false}}'`,
};

function isNodeCommand(commands: CommandTable): boolean {
  return Object.hasOwn(commands, "agent");
}

function refuse(io: Io, program: string, message: string, helpOn: string): number {
  io.stderr(`${program}: ${message}\nSee '${helpOn} --help'.\n`);
  return 2;
}
