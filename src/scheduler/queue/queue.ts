/**
 * The apps that wait for a node. It holds names; whoever takes one looks at the cluster again.
 *
 * An app is `active` (to be tried now, the highest priority first, then the oldest), `backing off` (after a failure, 1 s growing to
 * 10 s), or `parked` (no node would take it) until an event comes that may help. As a last resort parked apps are tried again after
 * five minutes. Pure but for the clock, which only measures waits.
 */
import { steadyNow } from "../../lib/time.ts";
import { Heap } from "./heap.ts";
import { mayHelp } from "../helps.ts";
import { type ClusterEvent } from "../types.ts";

export interface Waiting {
  readonly key: string;
  readonly priority: number;
  readonly createdAt: number;
}

interface Entry {
  item: Waiting;
  state: "active" | "backoff" | "parked" | "taken";
  attempts: number;
  /** When its backoff ends. */
  readyAt: number;
  parkedAt: number;
  refusedBy: readonly string[];
}

export interface QueueOptions {
  now?: () => number;
  initialBackoffMs?: number;
  maxBackoffMs?: number;
  flushMs?: number;
}

export class SchedulingQueue {
  readonly #now: () => number;
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #flushMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #active = new Heap<Entry>(comesFirst);
  readonly #backoff = new Heap<Entry>((a, b) => a.readyAt < b.readyAt);
  readonly #parked = new Set<Entry>();

  constructor(options: QueueOptions = {}) {
    const { now = steadyNow, initialBackoffMs = 1000, maxBackoffMs = 10_000, flushMs = 300_000 } = options;
    this.#now = now;
    this.#initialMs = initialBackoffMs;
    this.#maxMs = maxBackoffMs;
    this.#flushMs = flushMs;
  }

  get sizes(): { active: number; backoff: number; parked: number } {
    return { active: this.#active.size, backoff: this.#backoff.size, parked: this.#parked.size };
  }

  /** Puts an app in, or tells news about one that is there. `changed`: what it asks for is new, so what was refused counts no more. */
  add(item: Waiting, changed: boolean): void {
    const entry = this.#entries.get(item.key);
    if (!entry) {
      const fresh: Entry = { item, state: "active", attempts: 0, readyAt: 0, parkedAt: 0, refusedBy: [] };
      this.#entries.set(item.key, fresh);
      this.#active.push(fresh);
      return;
    }
    if (entry.item.priority !== item.priority || entry.item.createdAt !== item.createdAt) {
      const wasActive = this.#active.remove(entry);
      entry.item = item;
      if (wasActive) this.#active.push(entry);
    }
    if (!changed || entry.state === "taken") return;
    entry.attempts = 0;
    this.#move(entry, "active");
  }

  /** It is bound, gone, or nobody's concern here. */
  remove(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#leave(entry);
    this.#entries.delete(key);
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** The next app to try; it stays known, as taken, until one of the methods below says how that went. */
  take(): string | undefined {
    this.#wakeDue();
    const entry = this.#active.pop();
    if (!entry) return undefined;
    entry.state = "taken";
    entry.attempts++;
    return entry.item.key;
  }

  /** Something failed that may work soon. */
  retryLater(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#leave(entry);
    entry.readyAt = this.#now() + this.#delay(entry);
    entry.state = "backoff";
    this.#backoff.push(entry);
  }

  /** No node would take it, for these reasons. */
  park(key: string, refusedBy: readonly string[]): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#leave(entry);
    Object.assign(entry, {
      refusedBy,
      state: "parked",
      parkedAt: this.#now(),
      readyAt: this.#now() + this.#delay(entry),
    });
    this.#parked.add(entry);
  }

  /** Parked apps that the event may help, in the order in which they would be tried. */
  helpedBy(event: ClusterEvent): Waiting[] {
    const found = [...this.#parked].filter(({ refusedBy }) => mayHelp(event, refusedBy));
    return found.sort((a, b) => comesFirst(a, b) ? -1 : 1).map(({ item }) => item);
  }

  /** Has a parked app tried again: at once where it is known to fit, else when its backoff is over. */
  wake(key: string, { certain = false } = {}): void {
    const entry = this.#entries.get(key);
    if (entry?.state !== "parked") return;
    this.#move(entry, certain || entry.readyAt <= this.#now() ? "active" : "backoff");
  }

  /** How long until the next app becomes active by itself; Infinity: none does. */
  waitMs(): number {
    if (this.#active.size > 0) return 0;
    const [oldest] = this.#parked;
    const at = Math.min(
      this.#backoff.peek()?.readyAt ?? Infinity,
      (oldest?.parkedAt ?? Infinity) + this.#flushMs,
    );
    return Math.max(0, at - this.#now());
  }

  #wakeDue(): void {
    for (
      let entry = this.#backoff.peek();
      entry && entry.readyAt <= this.#now();
      entry = this.#backoff.peek()
    ) {
      this.#move(entry, "active");
    }
    // In the order in which they were parked.
    for (const entry of this.#parked) {
      if (entry.parkedAt + this.#flushMs > this.#now()) break;
      this.#move(entry, "active");
    }
  }

  #move(entry: Entry, state: "active" | "backoff"): void {
    this.#leave(entry);
    entry.state = state;
    (state === "active" ? this.#active : this.#backoff).push(entry);
  }

  #leave(entry: Entry): void {
    this.#active.remove(entry);
    this.#backoff.remove(entry);
    this.#parked.delete(entry);
  }

  #delay({ attempts }: Entry): number {
    return Math.min(this.#maxMs, this.#initialMs * 2 ** Math.max(0, Math.min(attempts, 20) - 1));
  }
}

function comesFirst({ item: a }: Entry, { item: b }: Entry): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority;
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt;
  return a.key < b.key;
}
