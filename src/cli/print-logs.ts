/**
 * Prints the logs of apps: that of one app byte for byte, those of several with the name of the app in front of each line. Several are
 * printed one after the other, or followed at the same time.
 */
import { Buffer } from "node:buffer";
import { describeError } from "../lib/log.ts";
import type { LogChoice } from "./agent-api/agent-api.ts";
import { type AppName, fullName } from "./app-name.ts";
import type { Io } from "./command.ts";
import type { AppReader } from "./app-reader.ts";
import { type Color, paintFor } from "./screen/screen.ts";

const colors: Color[] = ["cyan", "green", "yellow", "magenta", "blue"];
const newline = 10;
/** A longer line is broken: lines are kept until their end, so that those of several apps do not mix. */
const maxLineBytes = 65_536;

/** Resolves to the exit code. Of several logs, one that cannot be read is reported, and the others go on. */
export async function printLogs(
  source: Pick<AppReader, "logs">,
  apps: AppName[],
  choice: LogChoice,
  io: Io,
): Promise<number> {
  const options = { ...choice, signal: io.signal };
  const [only, ...others] = apps;
  if (only && others.length === 0) {
    for await (const bytes of source.logs(only, options)) io.stdout(bytes);
    return 0;
  }
  const paint = paintFor(io);
  const names = prefixes(apps);
  const print = async (app: AppName, index: number): Promise<number> => {
    const lines = prefixLines(paint(colors[index % colors.length]!, names[index]!));
    try {
      for await (const bytes of source.logs(app, options)) io.stdout(lines.add(bytes));
      io.stdout(lines.end());
      return 0;
    } catch (error) {
      io.stderr(`${names[index]} ${describeError(error)}\n`);
      return 1;
    }
  };
  const codes = choice.follow ? await Promise.all(apps.map(print)) : await Array.fromAsync(apps, print);
  return Math.max(0, ...codes);
}

/** Returns `[name]` for each app, or `[namespace/name]` if they are of several namespaces. Pure. */
function prefixes(apps: AppName[]): string[] {
  const isOne = new Set(apps.map(({ namespace }) => namespace)).size === 1;
  return apps.map((app) => `[${isOne ? app.name : fullName(app)}]`);
}

/** Puts a prefix in front of each whole line. */
export function prefixLines(prefix: string): { add(bytes: Uint8Array): Uint8Array; end(): Uint8Array } {
  const start = Buffer.from(`${prefix} `);
  let rest = Buffer.alloc(0);
  const finished = (line: Uint8Array) => [start, line, Buffer.from("\n")];
  return {
    add(bytes) {
      const all = Buffer.concat([rest, bytes]);
      const pieces: Uint8Array[] = [];
      let from = 0;
      for (let end: number; (end = all.indexOf(newline, from)) >= 0; from = end + 1) {
        pieces.push(start, all.subarray(from, end + 1));
      }
      for (; all.length - from > maxLineBytes; from += maxLineBytes) {
        pieces.push(...finished(all.subarray(from, from + maxLineBytes)));
      }
      rest = Buffer.from(all.subarray(from));
      return Buffer.concat(pieces);
    },
    end: () => Buffer.concat(rest.length > 0 ? finished(rest) : []),
  };
}
