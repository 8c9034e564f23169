/** Tells those who wait for something that was silent that it is heard again. */
export interface Pulse {
  beat(): void;
  /** Calls back with the next beat, unless the function that it returns is called before. */
  onNext(callback: () => void): () => void;
}

/** Makes a pulse. Who has stopped waiting is forgotten, however long there is no beat. */
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
