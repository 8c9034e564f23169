/**
 * A server program that a test starts, kills, pauses and restarts.
 *
 * Guarantees: the program dies with this process, even by SIGKILL. `start` returns when the program is ready
 * and throws with the end of its log when it ends before. `kill` returns when the program is gone.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/** What to run. */
export type DaemonSpec = {
  program: string;
  /** Read at each start. */
  args: string[] | (() => string[]);
  /** Added to this process's environment. */
  env?: Record<string, string>;
  /** The file to which both output streams are appended. */
  logFile: string;
  /** Resolves to true when the program serves; polled until then. */
  isReady: () => Promise<boolean>;
  /** The maximum start time. Default three minutes: inside a guest an API server takes one. */
  startTimeoutMs?: number;
};

/** A program that a test can stop and start at will. */
export class Daemon {
  #spec: DaemonSpec;
  #child: ChildProcess | undefined;
  #gone: Promise<void> = Promise.resolve();

  constructor(spec: DaemonSpec) {
    this.#spec = spec;
  }

  /** The process id while it runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts the program, always with the same arguments, and waits until it is ready, or until `isReady`. */
  async start({ isReady = this.#spec.isReady }: Partial<Pick<DaemonSpec, "isReady">> = {}): Promise<void> {
    if (this.#child) throw new Error(`${this.#name} runs already as process ${this.pid}`);
    this.#spawn();
    const { startTimeoutMs = 180_000 } = this.#spec;
    const deadline = Date.now() + startTimeoutMs;
    while (!(await isReady())) {
      if (!this.#child) {
        throw new Error(`${this.#name} ended while starting; its log ends with:\n${await this.log()}`);
      }
      if (Date.now() > deadline) {
        await this.kill("SIGKILL");
        throw new Error(`${this.#name} is not ready after ${startTimeoutMs} ms:\n${await this.log()}`);
      }
      await sleep(50);
    }
  }

  /** Sends the signal, by default SIGTERM, and waits until the program has ended. */
  async kill(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.#child?.kill(signal);
    // A paused program would not handle the signal.
    this.#child?.kill("SIGCONT");
    await this.#gone;
  }

  /** Pauses the program: its connections stay open, and it does not answer. */
  async pause(): Promise<void> {
    this.#child?.kill("SIGSTOP");
    // One of its threads takes the signal when it next gets a CPU; until then the others go on.
    while (this.pid && !/\) T /.test(await readFile(`/proc/${this.pid}/stat`, "utf8").catch(() => ") T "))) {
      await sleep(5);
    }
  }

  /** Ends a pause. */
  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Returns the last lines of the program's output. */
  async log(lines = 20): Promise<string> {
    const text = await readFile(this.#spec.logFile, "utf8");
    return text.trimEnd().split("\n").slice(-lines).join("\n");
  }

  get #name(): string {
    return basename(this.#spec.program);
  }

  #spawn(): void {
    const { program, args, env, logFile } = this.#spec;
    const log = openSync(logFile, "a");
    const child = spawn("setpriv", [
      "--pdeathsig",
      "KILL",
      program,
      ...(typeof args === "function" ? args() : args),
    ], {
      stdio: ["ignore", log, log],
      env: { ...process.env, ...env },
    });
    closeSync(log);
    this.#child = child;
    this.#gone = new Promise((resolve) => {
      const ended = () => {
        this.#child = undefined;
        resolve();
      };
      child.on("exit", ended);
      child.on("error", ended);
    });
  }
}
