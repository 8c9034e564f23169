/** The start in progress, if any: cancels it, and measures the wait for its launcher. */
import { performance } from "node:perf_hooks";

/** The starts of one app; at most one at a time, since its steps never overlap. */
export class StartAttempt {
  readonly #elapsed: () => number;
  #underWay: AbortController | undefined;
  #closed = false;
  #since: number;

  /** `elapsed` returns monotonic milliseconds. */
  constructor(elapsed: () => number = () => performance.now()) {
    this.#elapsed = elapsed;
    this.#since = elapsed();
  }

  /** The wait for the launcher: since the last start ended, or since this object was created. */
  get waitedMs(): number {
    return this.#elapsed() - this.#since;
  }

  /** Begins a start, which ends when the result is disposed of. The signal aborts when the start is canceled. */
  begin(): Disposable & { signal: AbortSignal } {
    const underWay = this.#underWay = new AbortController();
    if (this.#closed) underWay.abort(agentStops());
    return {
      signal: underWay.signal,
      [Symbol.dispose]: () => {
        this.#underWay = undefined;
        this.#since = this.#elapsed();
      },
    };
  }

  cancel(why: Error): void {
    this.#underWay?.abort(why);
  }

  /** The agent stops: nothing starts again, not even what was decided just before. */
  close(): void {
    this.#closed = true;
    this.cancel(agentStops());
  }
}

function agentStops(): Error {
  return new Error("the agent is stopping");
}
