import type { Io } from "../../src/cli/command.ts";
import { type CommandTable, runCommandLine } from "../../src/cli/command-line.ts";
import { commands } from "../../src/cli/commands/commands.ts";

export interface Said {
  code: number;
  stdout: string;
  stderr: string;
}

/** The world of a command, where it is not an empty one without a terminal. */
export interface CallOptions extends Partial<Io> {
  table?: CommandTable;
  program?: string;
}

/** Calls a command as main.ts does and collects its output: in `said` while it runs, all of it when it is `done`. */
export function call(
  words: string[],
  { table = commands, program, ...io }: CallOptions = {},
): { said: Said; done: Promise<Said> } {
  const said: Said = { code: -1, stdout: "", stderr: "" };
  const decoder = new TextDecoder();
  const world: Io = {
    stdout: (text) => void (said.stdout += typeof text === "string" ? text : decoder.decode(text)),
    stderr: (text) => void (said.stderr += text),
    env: {},
    columns: 0,
    signal: new AbortController().signal,
    ...io,
  };
  const done = runCommandLine(words, table, world, program).then((code) => Object.assign(said, { code }));
  return { said, done };
}
