/** `nckubelet scheduler` in a separate process: from source, or the executable that NCKUBELET_BIN names. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { checkout } from "../harness/parts.ts";
import { waitFor } from "../wait-for.ts";

export interface SchedulerCommand extends AsyncDisposable {
  /** Its log so far. */
  log(): string;
}

/** Starts a scheduler with these flags and waits until it leads; it stops at the end of the block. */
export async function startSchedulerCommand(flags: string[]): Promise<SchedulerCommand> {
  const binary = process.env.NCKUBELET_BIN;
  const [file, words] = binary ? [binary, []] : [process.execPath, [join(checkout, "src/main.ts")]];
  const child = spawn(file, [...words, "scheduler", "--listen", "", ...flags], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env.PATH },
  });
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (chunk) => text += chunk);
  await waitFor("the scheduler leads", () => {
    if (child.exitCode !== null) throw new Error(`the scheduler ended:\n${text}`);
    return text.includes(" leading identity=");
  });
  return {
    log: () => text,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}
