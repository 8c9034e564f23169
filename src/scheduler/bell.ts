export interface Bell {
  ring(): void;
  /** Resolves when it rings, or rang since the last wait; after `ms` at the latest, or when `signal` aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** Wakes a loop that waits for something to do. */
export function createBell(): Bell {
  let rang = false;
  let answer: (() => void) | undefined;
  return {
    ring() {
      rang = true;
      answer?.();
    },
    async wait(ms, signal) {
      if (!rang && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const finish = () => {
            clearTimeout(timer);
            signal.removeEventListener("abort", finish);
            answer = undefined;
            resolve();
          };
          const timer = setTimeout(finish, ms);
          signal.addEventListener("abort", finish, { once: true });
          answer = finish;
        });
      }
      rang = false;
    },
  };
}
