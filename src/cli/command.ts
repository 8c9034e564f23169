/**
 * What a command is: its words, its flags, what it does. One file per command beside this one.
 */

/** The world as commands see it; main.ts connects it to the process. */
export interface Io {
  stdout(text: string | Uint8Array): void;
  stderr(text: string): void;
  /** What the process is given to read, once; absent where that is nothing. */
  stdin?(): AsyncIterable<Uint8Array>;
  env: Record<string, string | undefined>;
  /** Standard output is a terminal of this many columns; 0: it is not. */
  columns: number;
  /** How many lines the terminal shows; absent where nobody knows. */
  rows?: number;
  /** The words that call this program again, before the name of a command. */
  self?: string[];
  /** Aborts when the user or the system asks the process to end. */
  signal: AbortSignal;
}

export interface Flag {
  /** A switch takes no value, a list may be given several times. */
  kind: "text" | "switch" | "list";
  /** How the value is called in the help, such as `DIR`. */
  value?: string;
  short?: string;
  help: string;
  default?: string;
}

export type FlagValues = Record<string, string | boolean | string[] | undefined>;

export interface Invocation {
  flags: FlagValues;
  args: string[];
}

export interface Command {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** What comes after the name, such as `[FILE...]`. */
  operands?: string;
  flags: Record<string, Flag>;
  /** Its first operands are its own; from there on, also without a `--`, all words are those of another command. */
  ownOperands?: number;
  examples: string[];
  /** Resolves to the exit code: 0 done, 1 failed. Wrong words are a UsageError, which is 2. */
  run(invocation: Invocation, io: Io): Promise<number>;
}

/** The call itself is wrong; the message says how, the help says how it is right. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** The text of a flag, or undefined. */
export function textFlag({ flags }: Invocation, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}

/** All texts of a flag that may be repeated. */
export function listFlag({ flags }: Invocation, name: string): string[] {
  const value = flags[name];
  return Array.isArray(value) ? value : [];
}
