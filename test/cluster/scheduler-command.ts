/** `nckubelet scheduler` or `controller` in a separate process: from source, or the executable that NCKUBELET_BIN names. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { checkout } from "../harness/parts.ts";
import { waitFor } from "../wait-for.ts";

export interface SchedulerCommand extends AsyncDisposable {
  /** Its log so far. */
  log(): string;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
}

/** Starts a scheduler with these flags and waits until it leads; it stops at the end of the block. */
export async function startSchedulerCommand(flags: string[]): Promise<SchedulerCommand> {
  const started = startCommand("scheduler", ["--listen", "", ...flags]);
  await waitFor("the scheduler leads", () => started.log().includes(" leading identity="));
  return started;
}

/** Starts the command with these flags; it stops at the end of the block. */
export function startCommand(command: "scheduler" | "controller", flags: string[]): SchedulerCommand {
  const binary = process.env.NCKUBELET_BIN;
  const [file, words] = binary ? [binary, []] : [process.execPath, [join(checkout, "src/main.ts")]];
  const child = spawn(file, [...words, command, ...flags], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env.PATH },
  });
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (chunk) => text += chunk);
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  };
  return {
    log() {
      if (child.exitCode) throw new Error(`the ${command} ended with ${child.exitCode}:\n${text}`);
      return text;
    },
    kill: () => end("SIGKILL"),
    [Symbol.asyncDispose]: () => end("SIGTERM"),
  };
}
