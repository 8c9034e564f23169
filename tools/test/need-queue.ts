/** Makes what suites need in the background, one thing after the other, while suites run that have theirs. */
import type { Need, NeedOrder } from "./needs.ts";

/** A running queue. */
export interface NeedQueue {
  /** Waits until these were made, or rejects with the error of the first that failed. */
  made(needs: Need[]): Promise<void>;
  /** Waits until nothing is being made, and lets nothing be made while `run` runs. To be called once if anything is to come later. */
  undisturbed<T>(run: () => Promise<T>): Promise<T>;
}

/** Starts the queue with `make` for each need. What fails does not stop the rest. */
export function startQueue({ first, later }: NeedOrder, make: (need: Need) => Promise<void>): NeedQueue {
  const results = new Map<Need, Promise<void>>();
  const measured = Promise.withResolvers<void>();
  const makeAfter = (before: Promise<unknown>, needs: Need[]): Promise<unknown> =>
    needs.reduce((before, need) => {
      const result = before.then(() => make(need));
      results.set(need, result);
      return result.catch(() => {});
    }, before);
  const quiet = makeAfter(Promise.resolve(), first);
  makeAfter(quiet.then(() => measured.promise), later);
  return {
    async made(needs) {
      await Promise.all(needs.map((need) => results.get(need)));
    },
    async undisturbed(run) {
      await quiet;
      try {
        return await run();
      } finally {
        measured.resolve();
      }
    },
  };
}
