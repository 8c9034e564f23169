/** `nckubelet completion`: prints a script that completes commands, flags, their values and operands in bash, zsh and fish. */
import { setSingular } from "../../api/names.ts";
import { ownValue } from "../../lib/objects.ts";
import { type Schema, setSpec, spec, templateSpec } from "../../api/schema/schema.ts";
import {
  bashCompletion,
  type Choices,
  type Completable,
  fishCompletion,
  zshCompletion,
} from "./completion-scripts.ts";
import { type Command, UsageError } from "../command.ts";
import { type CommandEntry, type CommandTable, visibleCommands } from "../command-line.ts";

const shells: Record<string, (commands: Completable[]) => string> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** Creates a command that prints a script to complete `commands`, their flags and the names of apps. */
export const completionCommand = (commands: CommandTable): Command => ({
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
    const script = ownValue(shells, shell);
    if (!script || extra !== undefined) throw new UsageError("name one shell: bash, zsh or fish");
    const entries = Object.entries(visibleCommands(commands));
    const all = await Promise.all(entries.map(([name, entry]) => toCompletable(name, entry)));
    const takes = all.map(({ name }) => name);
    const help: Completable = { name: "help", summary: "Show the help of a command.", takes, flags: [] };
    io.stdout(script([...all, help]));
    return 0;
  },
});

function operandsOf(operands: string): Choices {
  if (operands === "") return "anything";
  if (operands === "SHELL") return Object.keys(shells);
  if (operands === "[FIELD]") {
    return [...Object.keys(spec.properties), setSingular, ...fieldsBelow(setSpec, `${setSingular}.spec`)];
  }
  return /^\[?APP/.test(operands) ? "apps" : "files";
}

/** The paths of all fields below a field of a set, without those of its apps, which are fields of NCApp. */
function fieldsBelow(schema: Schema, path: string): string[] {
  const fields = schema === templateSpec ? {} : schema.properties ?? schema.items?.properties ?? {};
  return [path, ...Object.entries(fields).flatMap(([name, field]) => fieldsBelow(field, `${path}.${name}`))];
}

async function toCompletable(name: string, { summary, load }: CommandEntry): Promise<Completable> {
  const { operands = "", flags } = await load();
  return {
    name,
    summary,
    takes: operandsOf(operands),
    flags: Object.entries(flags).map(([flag, { short, help, choices, value }]) => ({
      flag,
      short,
      help,
      ...(value ? { value: choices ?? (isPath(value) ? "files" : "anything") } : {}),
    })),
  };
}

function isPath(value: string): boolean {
  return value === "FILE" || value === "PATH" || value === "DIR";
}
