/**
 * Runs other programs for the tools: without a shell, without standard input, with a time limit.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";

/** The exit code and output of a program; `code` is 127 if it could not be started. */
export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Options of a run. */
export interface CommandOptions {
  cwd?: string;
  /** Added to this process's environment; undefined removes a variable. */
  env?: Record<string, string | undefined>;
  timeoutMs?: number;
}

/** Runs a program to its end; a failure is a value, see `must`. */
export async function runCommand(
  file: string,
  args: string[],
  { cwd, env, timeoutMs = 600_000 }: CommandOptions = {},
): Promise<CommandResult> {
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk) => stdout += chunk);
  child.stderr.setEncoding("utf8").on("data", (chunk) => stderr += chunk);
  try {
    const [code, signal] = await once(child, "close") as [number | null, string | null];
    if (signal) stderr += `${file} ended by ${signal}\n`;
    return { code: code ?? 1, stdout, stderr };
  } catch (cause) {
    return { code: 127, stdout, stderr: `cannot run ${file}: ${(cause as Error).message}\n` };
  }
}

/** Runs a program that must succeed and returns its standard output. */
export async function must(file: string, args: string[], options?: CommandOptions): Promise<string> {
  const { code, stdout, stderr } = await runCommand(file, args, options);
  if (code === 0) return stdout;
  throw new Error(`${file} ${args.join(" ")}: exit code ${code}\n${stdout}${stderr}`.trimEnd());
}
