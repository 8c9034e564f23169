import type { Logger, LogLevel } from "../../src/lib/log.ts";

/** A logger that keeps its lines: level and message. */
export function createTestLog(): Logger & { lines: string[]; text(): string } {
  const lines: string[] = [];
  const all: string[] = [];
  const say = (level: LogLevel) => (message: string, fields?: object) => {
    lines.push(`${level} ${message}`);
    all.push(`${level} ${message} ${JSON.stringify(fields)}`);
  };
  return {
    debug() {},
    info: say("info"),
    warn: say("warn"),
    error: say("error"),
    lines,
    text: () => all.join("\n"),
  };
}
