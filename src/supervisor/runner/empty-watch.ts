/**
 * Children that outlive their script, or the launcher itself, end without a word from it: the kernel tells when the last is gone.
 */
import type { AppRecord, Run, RunView } from "../types.ts";

/** At most one watch at a time, for the run that the app has now. */
export class EmptyWatch {
  readonly #open: (record: AppRecord, run: Run) => () => void;
  #watched: { runId: string; close: () => void } | undefined;

  /** `open` begins to watch a run, and returns what ends the watch. */
  constructor(open: (record: AppRecord, run: Run) => () => void) {
    this.#open = open;
  }

  /** Watches where nobody else would tell of the end, and ends the watch of a run that is over. */
  follow(record: AppRecord, view: RunView | undefined): void {
    const { run, phase } = record;
    const needed = run !== undefined && view !== undefined && view.processes.length > 0 &&
      (view.exit !== undefined || !view.launcherAlive || phase === "Stopping");
    if (this.#watched?.runId !== run?.id) this.close();
    if (needed && !this.#watched) this.#watched = { runId: run.id, close: this.#open(record, run) };
  }

  close(): void {
    this.#watched?.close();
    this.#watched = undefined;
  }
}
