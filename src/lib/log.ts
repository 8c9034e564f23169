/**
 * The agent's own log: one line per event, text or JSON.
 *
 * A warning or error that repeats within a minute is counted, not printed; the count comes with the next line that is printed
 * for it. Callers must not pass secrets: nothing is masked here.
 */
import { errorCode, explainFileError } from "./files.ts";

export interface Logger {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

export type Fields = Record<string, unknown>;
export type LogLevel = keyof Logger;
export type LogFormat = "text" | "json";

/** Level and format may change later: each line is written as they are then. */
export interface LogOptions {
  level?: LogLevel;
  format?: LogFormat;
  write: (line: string) => void;
  now?: () => number;
}

const order: LogLevel[] = ["debug", "info", "warn", "error"];
const repeatMs = 60_000;
const rememberedLines = 500;

export function createLogger(options: LogOptions): Logger {
  const { write, now = Date.now } = options;
  const isRepeat = createRepeatFilter(now);

  const logAt = (lineLevel: LogLevel) => (message: string, fields: Fields = {}) => {
    const { level = "info", format = "text" } = options;
    if (order.indexOf(lineLevel) < order.indexOf(level)) return;
    const described = describeFields(fields);
    const repeated = lineLevel === "warn" || lineLevel === "error"
      ? isRepeat(`${message} ${JSON.stringify(described)}`)
      : 0;
    if (repeated === undefined) return;
    const shown = repeated > 0 ? { ...described, repeated } : described;
    write(formatLine(format, new Date(now()), lineLevel, message, shown));
  };
  return { debug: logAt("debug"), info: logAt("info"), warn: logAt("warn"), error: logAt("error") };
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Returns undefined for a line to skip, else how many times it was skipped before. */
function createRepeatFilter(now: () => number): (line: string) => number | undefined {
  const seen = new Map<string, { at: number; skipped: number }>();
  return (line) => {
    const entry = seen.get(line);
    if (entry && now() - entry.at < repeatMs) {
      entry.skipped++;
      return undefined;
    }
    seen.delete(line);
    seen.set(line, { at: now(), skipped: 0 });
    const oldest = seen.keys().next().value;
    if (seen.size > rememberedLines && oldest !== undefined) seen.delete(oldest);
    return entry?.skipped ?? 0;
  };
}

function describeFields(fields: Fields): Fields {
  const described: Fields = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    described[name] = value instanceof Error ? describeError(value) : value;
  }
  return described;
}

/** Returns the messages of an error and of its causes, outermost first. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message } = error;
  if (error.cause === undefined) return fileErrorInWords(error) ?? message;
  // The message may have said already what the number of a file system error means.
  const isExplained = fileErrorInWords(error.cause) &&
    [explainFileError(error.cause), errorCode(error.cause)].some((text) => message.includes(text));
  const cause = isExplained ? "" : describeError(error.cause);
  return cause && !message.includes(cause) ? `${message}: ${cause}` : message;
}

/** Returns the path and the meaning of an error such as `ENOENT: no such file or directory, open 'x'`; undefined for others. */
function fileErrorInWords(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { syscall, path, dest } = error as NodeJS.ErrnoException & { dest?: string };
  // Of two paths, either may be the one that the error is about.
  return syscall !== undefined && typeof path === "string" && dest === undefined
    ? `${path}: ${explainFileError(error)}`
    : undefined;
}

function formatLine(format: LogFormat, time: Date, level: LogLevel, message: string, fields: Fields): string {
  if (format === "json") return JSON.stringify({ time: time.toISOString(), level, message, ...fields });
  const tail = Object.entries(fields).map(([name, value]) => ` ${name}=${textValue(value)}`).join("");
  return `${time.toISOString()} ${level.toUpperCase().padEnd(5)} ${message}${tail}`;
}

function textValue(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? String(value);
  return /^[\w./:@%+,-]+$/.test(text) ? text : JSON.stringify(text);
}
