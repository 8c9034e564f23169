/** Tells those who wait for something that was silent that it is heard again. */
export interface Pulse {
  beat(): void;
  /** Resolves with the next beat. */
  next(): Promise<void>;
}

/** Makes a pulse. */
export function createPulse(): Pulse {
  let waiting = Promise.withResolvers<void>();
  return {
    beat() {
      waiting.resolve();
      waiting = Promise.withResolvers();
    },
    next: () => waiting.promise,
  };
}
