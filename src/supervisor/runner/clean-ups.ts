/**
 * Cleans up runs that are over. A clean-up that fails, because a process does not exit or a disk does not answer, is retried at
 * every step of the app.
 */
import type { Run } from "../types.ts";

/** The clean-ups of one app. */
export class CleanUps {
  readonly #cleanUp: (run: Run) => Promise<void>;
  readonly #onFailure: (run: Run, error: unknown) => void;
  #failed: Run[] = [];

  constructor(cleanUp: (run: Run) => Promise<void>, onFailure: (run: Run, error: unknown) => void) {
    this.#cleanUp = cleanUp;
    this.#onFailure = onFailure;
  }

  /** Reports whether no clean-up has to be retried. */
  get done(): boolean {
    return this.#failed.length === 0;
  }

  async perform(run: Run): Promise<void> {
    try {
      await this.#cleanUp(run);
      this.#failed = this.#failed.filter(({ id }) => id !== run.id);
    } catch (error) {
      this.#onFailure(run, error);
      if (!this.#failed.some(({ id }) => id === run.id)) this.#failed.push(run);
    }
  }

  async retry(): Promise<void> {
    for (const run of this.#failed) await this.perform(run);
  }
}
