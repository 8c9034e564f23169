/**
 * The entry: the only reader of argv, environment and signals. All else is told through `Io`.
 */
import process from "node:process";
import type { Io } from "./cli/command.ts";
import { runCommandLine } from "./cli/command-line.ts";
import { commands } from "./cli/commands.ts";

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => stopping.abort(name));
}
// A reader that went away, such as `| head`, is no reason for a stack trace.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

const io: Io = {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  env: process.env,
  columns: process.stdout.isTTY ? process.stdout.columns : 0,
  signal: stopping.signal,
};

// Not awaited here: the single executable is built from a CommonJS bundle, which has no top-level await.
runCommandLine(process.argv.slice(2), commands, io).then((code) => process.exitCode = code);
