/**
 * Watches for the end of processes that no launcher reports, such as children that outlive their script or the launcher: the kernel
 * reports when the last one is gone.
 */
import type { AppRecord, Run, RunView } from "../types.ts";

/** The watch of one app: at most one at a time, for its current run. */
export class EmptyWatch {
  readonly #open: (record: AppRecord, run: Run) => () => void;
  #watched: { runId: string; close: () => void } | undefined;

  /** `open` starts to watch a run, and returns a function that ends the watch. */
  constructor(open: (record: AppRecord, run: Run) => () => void) {
    this.#open = open;
  }

  /** Starts a watch if nothing else would report the end of the run, and ends the watch of an earlier run. */
  update(record: AppRecord, view: RunView | undefined): void {
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
