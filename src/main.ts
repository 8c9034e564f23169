/** The entry point: the only reader of argv, environment and signals. Everything else gets them through `Io`. */
import { basename } from "node:path";
import process from "node:process";
import { isatty } from "node:tty";
import type { Io } from "./cli/command.ts";
import { runCommandLine } from "./cli/command-line.ts";
import { commands } from "./cli/commands/commands.ts";
import { selfCommand } from "./cli/self-command.ts";
import { openTerminal } from "./cli/terminal.ts";

/** Under this name the program is a plugin of kubectl. */
const isPlugin = basename(process.argv0) === "kubectl-ncapp";
const program = isPlugin ? "kubectl ncapp" : "nckubelet";

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => stopping.abort(name));
}
/** The signal of a lost terminal ends every command; otherwise one that has a use for SIGHUP gets it. */
const hangUp = () => stopping.abort("SIGHUP");
let onHangup = hangUp;
const hadTerminal = isatty(2);
process.on("SIGHUP", () => hadTerminal && !isatty(2) ? hangUp() : onHangup());
/** Set when output is lost, such as on a full disk. */
let outputFailed = false;
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // A reader that went away (`| head`: EPIPE) or a lost terminal (EIO) is not worth a message.
  if (error.code !== "EPIPE" && error.code !== "EIO" && !outputFailed) {
    outputFailed = true;
    process.exitCode = 1;
    process.stderr.write(`${program}: cannot write to standard output: ${error.code ?? error.message}\n`);
  }
  stopping.abort(error.code);
});
// stderr is gone; ignore write errors. An agent that ended here would not stop its apps.
process.stderr.on("error", () => {});

const io: Io = {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  // Opened only by commands that read it: opening changes how a terminal or a pipe behaves.
  stdin: () => process.stdin,
  env: process.env,
  get columns() {
    return process.stdout.isTTY ? process.stdout.columns : 0;
  },
  get rows() {
    return process.stdout.isTTY ? process.stdout.rows : undefined;
  },
  openTerminal: isatty(0) && isatty(1) ? () => openTerminal(process) : undefined,
  self: selfCommand(process),
  signal: stopping.signal,
  onHangup: (listener) => void (onHangup = listener),
};

const words = process.argv.slice(2);
const running = isPlugin
  ? import("./cli/plugin/plugin.ts").then(({ pluginCommands }) =>
    runCommandLine(words, pluginCommands, io, program)
  )
  : runCommandLine(words, commands, io, program);
// Not awaited here: the single executable is built from a CommonJS bundle, which has no top-level await.
running.then((code) => {
  process.exitCode = outputFailed ? code || 1 : code;
  // Runs only if something keeps the process alive, such as a thread that a hung mount blocks.
  setTimeout(async () => {
    const { hardExit } = await import("./lib/deadlines/deadlines.ts");
    // Called when a slow reader, such as a pager, has all of the output, or is gone.
    process.stdout.write("", () => hardExit(Number(process.exitCode)));
  }, 500).unref();
});
