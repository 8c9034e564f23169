/**
 * What a command is: its operands, flags and examples, and what it does. Its name and summary are in the table of commands
 * (commands/commands.ts), so that help can list all commands without loading them.
 */

import type { Terminal } from "./terminal.ts";

/** What commands see of the process; main.ts connects it. */
export interface Io {
  stdout(text: string | Uint8Array): void;
  stderr(text: string): void;
  /** Opens standard input; absent if there is none. */
  stdin?(): AsyncIterable<Uint8Array>;
  env: Record<string, string | undefined>;
  /** Width of the terminal; 0 if standard output is not a terminal. */
  columns: number;
  /** Height of the terminal; absent if unknown. */
  rows?: number;
  /** Takes the terminal for a screen with keys; absent unless standard input and output are a terminal. */
  openTerminal?: () => Terminal;
  /** The command line that runs this program again, without the name of a command. */
  self?: string[];
  /** Aborts when the user or the system asks the process to end. */
  signal: AbortSignal;
  /** Calls back at every SIGHUP, which then ends the process only if it has lost its terminal. */
  onHangup?(listener: () => void): void;
}

export interface Flag {
  /** Name of the value in the help, such as `DIR`; a switch has none. */
  value?: string;
  /** May be given several times. */
  list?: boolean;
  short?: string;
  /** The values to choose from, for completion. */
  choices?: readonly string[];
  help: string;
  default?: string;
}

export type FlagValues = Record<string, string | boolean | string[] | undefined>;

export interface Invocation {
  flags: FlagValues;
  args: string[];
}

export interface Command {
  /** What comes after the flags, such as `[FILE...]`. Without it, operands are a UsageError. */
  operands?: string;
  /** Added to that error: what to use instead. */
  operandHint?: string;
  flags: Record<string, Flag>;
  /** Flags that programs with the same command have, as typed, and what to do here instead. */
  otherFlags?: Record<string, string>;
  /** After this many operands, all words belong to another command line, even without `--`. */
  ownOperands?: number;
  examples: string[];
  /** Resolves to the exit code: 0 done, 1 failed. A UsageError exits with 2. */
  run(invocation: Invocation, io: Io): Promise<number>;
}

export class UsageError extends Error {
  override name = "UsageError";
}

export function textFlag({ flags }: Invocation, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}

export function listFlag({ flags }: Invocation, name: string): string[] {
  const value = flags[name];
  return Array.isArray(value) ? value : [];
}
