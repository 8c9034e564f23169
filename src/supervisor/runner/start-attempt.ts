/**
 * The start of a run that is under way, if one is: who may call it off, and since when its launcher is waited for.
 */
import { performance } from "node:perf_hooks";

/** At most one start at a time, as the steps of an app are. */
export class StartAttempt {
  readonly #elapsed: () => number;
  #underWay: AbortController | undefined;
  #closed = false;
  #since: number;

  /** `elapsed` counts milliseconds, whatever is done to the clock. */
  constructor(elapsed: () => number = () => performance.now()) {
    this.#elapsed = elapsed;
    this.#since = elapsed();
  }

  /** For how long a launcher is waited for: since the start was made, or else since this was created. */
  get waitedMs(): number {
    return this.#elapsed() - this.#since;
  }

  /** Makes a start. Its signal says when it is called off. */
  async make<T>(start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const underWay = this.#underWay = new AbortController();
    if (this.#closed) underWay.abort(agentStops());
    try {
      return await start(underWay.signal);
    } finally {
      this.#underWay = undefined;
      this.#since = this.#elapsed();
    }
  }

  callOff(why: Error): void {
    this.#underWay?.abort(why);
  }

  /** The agent stops: nothing begins any more, also not what was decided on just before. */
  close(): void {
    this.#closed = true;
    this.callOff(agentStops());
  }
}

function agentStops(): Error {
  return new Error("the agent is stopping");
}
