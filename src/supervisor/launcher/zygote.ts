/**
 * The zygote as a process of this agent. It answers requests in their order.
 *
 * Guarantees: every request is answered or rejected: if the zygote ends, or does not give the next answer in time (then it is
 * killed), all that wait are rejected. What a rejected request has started is unknown.
 */
import { Buffer } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { errorCode } from "../../lib/files.ts";

const answerMs = 10_000;
/** Launchers show the path of their marks in their argument list, in the place of this. */
const titleBytes = 1024;

interface Waiting {
  timeoutMs: number;
  resolve: (answer: number) => void;
  reject: (error: Error) => void;
}

export class Zygote {
  readonly #child: ChildProcess;
  readonly #waiting: Waiting[] = [];
  #received = Buffer.alloc(0);
  #timer: NodeJS.Timeout | undefined;
  #end: string | undefined;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on("error", (error) => this.#ended(errorCode(error)));
    child.on("exit", (code, signal) => this.#ended(signal ?? `exit status ${code}`));
    child.stdin!.on("error", (error) => this.#ended(errorCode(error)));
    child.stdout!.on("error", (error) => this.#ended(errorCode(error)));
    child.stdout!.on("data", (chunk: Uint8Array) => this.#read(chunk));
    // The agent may exit while it runs: then its requests end, and so does it.
    child.unref();
    for (const stream of [child.stdin, child.stdout]) (stream as { unref?: () => void }).unref?.();
  }

  /** Starts a zygote; throws if it cannot be executed or does not answer. */
  static async start(path: string): Promise<Zygote> {
    const child = spawn(path, ["zygote", "-".repeat(titleBytes)], {
      cwd: "/",
      env: {},
      stdio: ["pipe", "pipe", "ignore"],
      // Ctrl-C is for the agent alone.
      detached: true,
    });
    await once(child, "spawn");
    const zygote = new Zygote(child);
    const answer = await zygote.request(Buffer.alloc(4));
    if (answer === 0) return zygote;
    zygote.close();
    throw new Error(`it answers ${answer} to an empty request`);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Why it has ended; undefined while it runs. */
  get end(): string | undefined {
    return this.#end;
  }

  request(bytes: Uint8Array, timeoutMs: number = answerMs): Promise<number> {
    if (this.#end !== undefined) return Promise.reject(new Error(`the zygote has ended: ${this.#end}`));
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#waiting.push({ timeoutMs, resolve, reject });
    if (this.#waiting.length === 1) this.#expectAnswer();
    this.#child.stdin!.write(bytes);
    return promise;
  }

  close(): void {
    this.#ended("closed");
    // Not end(): a write that never completes would keep this process from exiting.
    this.#child.stdin!.destroy();
    this.#child.stdout!.destroy();
  }

  #read(chunk: Uint8Array): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    while (this.#received.length >= 4) {
      this.#waiting.shift()?.resolve(this.#received.readInt32LE(0));
      this.#received = this.#received.subarray(4);
    }
    this.#expectAnswer();
  }

  /** Only the first request in line can be late: hundreds of apps may start at once on a slow machine. */
  #expectAnswer(): void {
    clearTimeout(this.#timer);
    const [first] = this.#waiting;
    if (!first) return;
    this.#timer = setTimeout(() => {
      this.#ended(`no answer in ${first.timeoutMs / 1000} s`);
      this.#child.kill("SIGKILL");
    }, first.timeoutMs);
  }

  #ended(why: string): void {
    this.#end ??= why;
    clearTimeout(this.#timer);
    for (const { reject } of this.#waiting.splice(0)) {
      reject(new Error(`the zygote has ended: ${this.#end}`));
    }
  }
}
