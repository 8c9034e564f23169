/** Runs steps one at a time. A poke during a step leads to another step after it, and a step that throws is retried. */
import { longestTimerMs } from "../../lib/sleep.ts";

export interface StepLoopOptions {
  /** One step; true means that another must follow at once. */
  step: () => Promise<boolean>;
  /** A cheaper check; true means that a step must follow. */
  quickCheck: () => Promise<boolean>;
  onError: (error: unknown) => void;
  now: () => number;
}

const retryMs = 5000;

export class StepLoop {
  readonly #options: StepLoopOptions;
  #running: Promise<void> | undefined;
  #pokedAgain = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: StepLoopOptions) {
    this.#options = options;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Something may have happened: take a step. */
  poke(): void {
    if (this.#closed) return;
    if (this.#running) {
      this.#pokedAgain = true;
      return;
    }
    this.#run(() => this.#runSteps());
  }

  /** Runs the quick check, unless a step is under way. A timer stays set. */
  check(): void {
    if (this.#closed || this.#running) return;
    this.#run(async () => {
      if (await this.#options.quickCheck()) this.#pokedAgain = true;
    });
  }

  /** Pokes at this time, unless a step comes first. */
  wakeAt(time: number): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    const waitMs = Math.min(longestTimerMs, Math.max(0, time - this.#options.now()));
    this.#timer = setTimeout(() => this.poke(), waitMs);
  }

  /** Resolves when the step under way, if any, is done. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Starts no further step; resolves when the one under way is done. A step that closes its own loop must not await this. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #run(work: () => Promise<void>): void {
    this.#running = work().catch((error) => {
      this.#options.onError(error);
      this.wakeAt(this.#options.now() + retryMs);
    }).finally(() => {
      this.#running = undefined;
      if (this.#pokedAgain) {
        this.#pokedAgain = false;
        this.poke();
      }
    });
  }

  async #runSteps(): Promise<void> {
    clearTimeout(this.#timer);
    for (let again = true; again && !this.#closed;) again = await this.#options.step();
  }
}
