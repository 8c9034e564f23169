import { bashCompletion, type Completable, fishCompletion, zshCompletion } from "./completion-scripts.ts";
import { type Command, UsageError } from "../command.ts";
import { type CommandTable, visibleCommands } from "../command-line.ts";

const shells: Record<string, (commands: Completable[]) => string> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** A command that prints a script which teaches a shell all of `commands`, their flags and the names of apps. */
export const completionCommand = (commands: CommandTable): Command => ({
  name: "completion",
  summary: "Print a completion script for bash, zsh or fish.",
  operands: "SHELL",
  flags: {},
  examples: [
    "source <(nckubelet completion bash)",
    "nckubelet completion bash > /etc/bash_completion.d/nckubelet",
    "nckubelet completion zsh > ~/.zfunc/_nckubelet",
    "nckubelet completion fish > ~/.config/fish/completions/nckubelet.fish",
  ],
  async run({ args }, io) {
    const [shell = "", extra] = args;
    const script = Object.hasOwn(shells, shell) ? shells[shell] : undefined;
    if (!script || extra !== undefined) throw new UsageError("name one shell: bash, zsh or fish");
    const all = await Promise.all(Object.values(visibleCommands(commands)).map(({ load }) => load()));
    const names = all.map(({ name }) => name);
    const help: Completable = {
      name: "help",
      summary: "Show how a command is used.",
      takes: names,
      flags: [],
    };
    io.stdout(script([...all.map(describeCommand), help]));
    return 0;
  },
});

function operandsOf(operands: string): Completable["takes"] {
  if (operands === "") return [];
  if (operands === "SHELL") return Object.keys(shells);
  return operands.startsWith("APP") ? "apps" : "files";
}

function describeCommand({ name, summary, operands = "", flags }: Command): Completable {
  return {
    name,
    summary,
    takes: operandsOf(operands),
    flags: Object.entries(flags).map(([flag, { kind, short, help }]) => ({
      flag,
      short,
      help,
      hasValue: kind !== "switch",
    })),
  };
}
