/** Notifies waiters when something that was silent responds again. */
export interface Pulse {
  beat(): void;
  /** Calls back at the next beat. The returned function cancels that. */
  onNext(callback: () => void): () => void;
}

/** A canceled waiter is released at once, however long there is no beat. */
export function createPulse(): Pulse {
  const waiting = new Set<{ callback: () => void }>();
  return {
    beat() {
      const called = [...waiting];
      waiting.clear();
      for (const { callback } of called) callback();
    },
    onNext(callback) {
      const waiter = { callback };
      waiting.add(waiter);
      return () => void waiting.delete(waiter);
    },
  };
}
