/**
 * The entry: the only reader of argv, environment and signals. All else is told through `Io`.
 */
import { basename } from "node:path";
import process from "node:process";
import type { Io } from "./cli/command.ts";
import { runCommandLine } from "./cli/command-line.ts";
import { commands } from "./cli/commands.ts";
import { selfCommand } from "./cli/self-command.ts";

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => stopping.abort(name));
}
// A reader that went away, such as `| head`, is no reason for a stack trace.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  stopping.abort("EPIPE");
});

const io: Io = {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  // Asked for only by commands that read it: its mere opening changes how a terminal or a pipe behaves.
  stdin: () => process.stdin,
  env: process.env,
  get columns() {
    return process.stdout.isTTY ? process.stdout.columns : 0;
  },
  get rows() {
    return process.stdout.isTTY ? process.stdout.rows : undefined;
  },
  self: selfCommand(process),
  signal: stopping.signal,
};

const words = process.argv.slice(2);
/** Called by this name the program is a plugin of kubectl. */
const isPlugin = basename(process.argv0) === "kubectl-ncapp";
const running = isPlugin
  ? import("./cli/plugin.ts").then(({ pluginCommands }) =>
    runCommandLine(words, pluginCommands, io, "kubectl ncapp")
  )
  : runCommandLine(words, commands, io);
// Not awaited here: the single executable is built from a CommonJS bundle, which has no top-level await.
running.then((code) => process.exitCode = code);
