export interface Deadline {
  readonly ms: number;
  /** Aborts when the time is up, or with the caller's own signal. */
  readonly signal: AbortSignal;
  /** True when the time was up, false when the caller aborted. */
  readonly expired: boolean;
  /** Stops the clock; the caller's signal still counts. */
  stop(): void;
  /** Lets go of the caller's signal too. Without this a long-lived signal would collect listeners. */
  release(): void;
}

/** A signal with a time limit. */
export function startDeadline(ms: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    controller.abort(new Error(`not done within ${ms} ms`));
  }, ms);
  const abort = () => controller.abort(outer?.reason);
  if (outer?.aborted) abort();
  else outer?.addEventListener("abort", abort, { once: true });
  return {
    ms,
    signal: controller.signal,
    get expired() {
      return expired;
    },
    stop: () => clearTimeout(timer),
    release() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", abort);
    },
  };
}
