import type { Io } from "../../src/cli/command.ts";
import { type CommandTable, runCommandLine } from "../../src/cli/command-line.ts";
import { commands } from "../../src/cli/commands/commands.ts";

export interface Output {
  code: number;
  stdout: string;
  stderr: string;
}

/** What differs from an empty Io without a terminal. */
export interface CallOptions extends Partial<Io> {
  table?: CommandTable;
  program?: string;
}

/** Calls a command as main.ts does and collects its output: in `output` while it runs, all of it when it is `done`. */
export function call(
  words: string[],
  { table = commands, program, ...io }: CallOptions = {},
): { output: Output; done: Promise<Output> } {
  const output: Output = { code: -1, stdout: "", stderr: "" };
  const decoder = new TextDecoder();
  const fullIo: Io = {
    stdout: (text) => void (output.stdout += typeof text === "string" ? text : decoder.decode(text)),
    stderr: (text) => void (output.stderr += text),
    env: {},
    columns: 0,
    signal: new AbortController().signal,
    ...io,
  };
  const done = runCommandLine(words, table, fullIo, program).then((code) => Object.assign(output, { code }));
  return { output, done };
}
