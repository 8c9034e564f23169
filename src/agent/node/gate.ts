/**
 * Decides whether the agent acts for its node at the API server: takes apps from there, reports them, and keeps the Node and its
 * Leases.
 *
 * Closed, it changes nothing: apps that run keep running as they are, and none is started or withdrawn. Apps of other sources are
 * not affected.
 */
import { orAborted, waitAtMost } from "../../lib/sleep.ts";
import type { Source, SourceSink } from "../../sources/source.ts";

export interface Gate {
  /** Undefined until it is decided. */
  readonly isOpen: boolean | undefined;
  /** Why it is closed. */
  readonly why: string | undefined;
  /** When that last changed. */
  readonly since: Date;
  open(): void;
  close(why: string): void;
  /** Calls back at every change from closed to open. */
  onOpen(callback: () => void): void;
  /** Resolves when it is open or closed for a reason, at the latest after `ms`. */
  decided(ms: number, signal: AbortSignal): Promise<void>;
}

export function createGate(): Gate {
  let state: { isOpen?: boolean; why?: string } = {};
  let since = new Date();
  const openers: (() => void)[] = [];
  const decision = Promise.withResolvers<void>();
  const set = (next: typeof state) => {
    const opens = next.isOpen && !state.isOpen;
    if (next.isOpen !== state.isOpen || next.why !== state.why) since = new Date();
    state = next;
    decision.resolve();
    if (opens) { for (const callback of openers) callback(); }
  };
  return {
    get isOpen() {
      return state.isOpen;
    },
    get why() {
      return state.why;
    },
    get since() {
      return since;
    },
    open: () => set({ isOpen: true }),
    close: (why) => set({ isOpen: false, why }),
    onOpen: (callback) => void openers.push(callback),
    async decided(ms, signal) {
      await waitAtMost(ms, orAborted(decision.promise, signal).catch(() => {}));
    },
  };
}

/** How long the first list waits for the decision: without an API server there is none, and the source says why. */
const firstListMs = 1000;

/**
 * Returns a source that passes apps on only while the gate is open, through the sink that `observe` returns. Each time the gate
 * opens, it lists them again.
 */
export function guardSource(
  source: Source,
  gate: Gate,
  observe: (sink: SourceSink) => SourceSink,
  waitMs = firstListMs,
): Source {
  let restart: AbortController | undefined;
  gate.onOpen(() => restart?.abort());
  const pass = <A extends unknown[]>(call: (...args: A) => void) => (...args: A) => {
    if (gate.isOpen) call(...args);
  };
  const guard = (sink: SourceSink): SourceSink => ({
    replace: pass(sink.replace),
    upsert: pass(sink.upsert),
    remove: pass(sink.remove),
    reportProblems: sink.reportProblems,
  });
  return {
    name: source.name,
    health() {
      const health = source.health();
      if (gate.isOpen || gate.isOpen === undefined && !health.ready) return health;
      const message = gate.why ?? "not decided yet whether this agent acts for its node";
      return { ready: false, message, since: gate.since };
    },
    async run(sink, signal) {
      await gate.decided(waitMs, signal);
      while (!signal.aborted && (!restart || restart.signal.aborted)) {
        restart = new AbortController();
        await source.run(guard(observe(sink)), AbortSignal.any([signal, restart.signal]));
      }
    },
  };
}
