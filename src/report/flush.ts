import type { Clock } from "./clock.ts";

export interface Drain {
  /** Waits until nothing is left to do, at most `timeoutMs`. */
  wait(timeoutMs: number): Promise<void>;
  /** Nothing is left to do. */
  settle(): void;
}

/** Lets callers wait for the end of work, each with a time of its own. */
export function createDrain(clock: Clock): Drain {
  const waiting = new Set<() => void>();
  return {
    wait: (timeoutMs) =>
      new Promise((resolve) => {
        const finish = () => {
          cancel();
          waiting.delete(finish);
          resolve();
        };
        const cancel = clock.after(timeoutMs, finish);
        waiting.add(finish);
      }),
    settle() {
      for (const finish of waiting) finish();
    },
  };
}
