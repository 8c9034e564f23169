/** Scripts that record the time of their first line, in nanoseconds, and then keep running. */
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { tempFolder } from "../test/temp-folder.ts";
import { waitFor } from "../test/wait-for.ts";

export interface FirstLines extends AsyncDisposable {
  /** The script; its argument is where it writes. */
  shellFile: string;
  argsFor(name: string): string[];
  /** Waits until the first line of `name` ran, and returns the time in milliseconds since the epoch. */
  momentOf(name: string, timeoutMs?: number): Promise<number>;
  /** Starts the script as cheaply as a program can; it ends with the caller's block. */
  startBare(name: string): void;
}

/** Creates the script. `date` takes the time, so each value is late by the start of that program: a millisecond or two. */
export async function createFirstLines(): Promise<FirstLines> {
  const temp = tempFolder();
  const folder = temp.path;
  const shellFile = join(folder, "stamp.sh");
  await writeFile(shellFile, `#!/bin/sh\ndate +%s%N >"$1"\nexec sleep 3600\n`, { mode: 0o755 });
  const bare: ReturnType<typeof spawn>[] = [];
  const fileOf = (name: string) => join(folder, `${name}.at`);
  return {
    shellFile,
    argsFor: (name) => [fileOf(name)],
    async momentOf(name, timeoutMs = 30_000) {
      const text = await waitFor(`the first line of ${name}`, async () => {
        const found = await readFile(fileOf(name), "utf8").catch(() => "");
        return found.endsWith("\n") && found;
      }, timeoutMs);
      return Number(text) / 1e6;
    },
    startBare(name) {
      bare.push(spawn(shellFile, [fileOf(name)], { stdio: "ignore" }));
    },
    async [Symbol.asyncDispose]() {
      for (const child of bare) child.kill("SIGKILL");
      temp.remove();
    },
  };
}

/** The time of the same clock as `date`, in milliseconds with a fraction. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
