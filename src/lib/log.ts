/**
 * The agent's own log: one line per event, text or JSON.
 *
 * The same warning or error said again within a minute is counted, not printed; the count comes with the next line that is
 * printed for it. What may be secret must not be passed in: nothing is masked here.
 */
export interface Logger {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

export type Fields = Record<string, unknown>;
export type LogLevel = keyof Logger;
export type LogFormat = "text" | "json";

export interface LogOptions {
  level?: LogLevel;
  format?: LogFormat;
  write: (line: string) => void;
  now?: () => number;
}

const order: LogLevel[] = ["debug", "info", "warn", "error"];
const quietMs = 60_000;
const rememberedLines = 500;

/** Makes a logger that passes finished lines to `write`. */
export function createLogger({ level = "info", format = "text", write, now = Date.now }: LogOptions): Logger {
  const lowest = order.indexOf(level);
  const isRepeat = createRepeatFilter(now);

  const say = (lineLevel: LogLevel) => (message: string, fields: Fields = {}) => {
    if (order.indexOf(lineLevel) < lowest) return;
    const known = describeFields(fields);
    const repeated = lineLevel === "warn" || lineLevel === "error"
      ? isRepeat(`${message} ${JSON.stringify(known)}`)
      : 0;
    if (repeated === undefined) return;
    const said = repeated > 0 ? { ...known, repeated } : known;
    write(formatLine(format, new Date(now()), lineLevel, message, said));
  };
  return { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
}

/** A logger that says nothing, for callers that need none. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Answers undefined for a line to leave out, else how many times it was left out before. */
function createRepeatFilter(now: () => number): (line: string) => number | undefined {
  const seen = new Map<string, { at: number; skipped: number }>();
  return (line) => {
    const entry = seen.get(line);
    if (entry && now() - entry.at < quietMs) {
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

/** The messages of an error and of its causes, outermost first. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : describeError(error.cause);
  return cause && !error.message.includes(cause) ? `${error.message}: ${cause}` : error.message;
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
