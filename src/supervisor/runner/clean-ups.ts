/**
 * Clears away runs that are over. One that could not be, since a process would not go or a disk not answer, is tried again at every
 * step of its app.
 */
import type { Run } from "../types.ts";

/** The clean-ups of one app. */
export class CleanUps {
  readonly #cleanUp: (run: Run) => Promise<void>;
  readonly #onFailure: (run: Run, error: unknown) => void;
  #left: Run[] = [];

  constructor(cleanUp: (run: Run) => Promise<void>, onFailure: (run: Run, error: unknown) => void) {
    this.#cleanUp = cleanUp;
    this.#onFailure = onFailure;
  }

  /** Whether nothing is left to be tried again. */
  get done(): boolean {
    return this.#left.length === 0;
  }

  async perform(run: Run): Promise<void> {
    try {
      await this.#cleanUp(run);
      this.#left = this.#left.filter(({ id }) => id !== run.id);
    } catch (error) {
      this.#onFailure(run, error);
      if (!this.#left.some(({ id }) => id === run.id)) this.#left.push(run);
    }
  }

  async tryAgain(): Promise<void> {
    for (const run of this.#left) await this.perform(run);
  }
}
