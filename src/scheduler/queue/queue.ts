/**
 * The apps that wait for a node. The queue holds keys; the loop reads the app from the cluster state.
 *
 * An app is `active` (tried now, highest priority first, then oldest), in `backoff` (after a failure, 1 s growing to 10 s), or `parked`
 * (no node fits) until an event may help it. As a last resort parked apps are tried again after five minutes. Pure except for the
 * clock, which only measures delays.
 */
import { steadyNow } from "../../lib/time.ts";
import { Heap } from "./heap.ts";
import type { ClusterEvent } from "../types.ts";

export interface QueuedApp {
  readonly key: string;
  readonly priority: number;
  readonly createdAt: number;
}

interface QueueEntry {
  item: QueuedApp;
  state: "active" | "backoff" | "parked" | "taken";
  attempts: number;
  /** When its backoff ends. */
  readyAt: number;
  parkedAt: number;
  helpedBy: readonly ClusterEvent[];
}

const initialBackoffMs = 1000;
const maxBackoffMs = 10_000;
/** How long an app is parked at most. */
const flushMs = 300_000;
const evictionMemoryMs = 600_000;

export class SchedulingQueue {
  readonly #now: () => number;
  readonly #entries = new Map<string, QueueEntry>();
  readonly #active = new Heap<QueueEntry>(comesFirst);
  readonly #backoff = new Heap<QueueEntry>((a, b) => a.readyAt < b.readyAt);
  readonly #parked = new Set<QueueEntry>();
  /** Evictions of each app in a row, and the last one. */
  readonly #evictions = new Map<string, { count: number; at: number }>();

  constructor(now: () => number = steadyNow) {
    this.#now = now;
  }

  get sizes(): { active: number; backoff: number; parked: number } {
    return { active: this.#active.size, backoff: this.#backoff.size, parked: this.#parked.size };
  }

  /** Adds or updates an app. `changed`: its request has changed, so an earlier refusal no longer counts. */
  add(item: QueuedApp, changed: boolean): void {
    const entry = this.#entries.get(item.key);
    if (!entry) {
      const fresh: QueueEntry = { item, state: "active", attempts: 0, readyAt: 0, parkedAt: 0, helpedBy: [] };
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

  /** Removes an app that is bound, gone, or not placed by this scheduler. */
  remove(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#detach(entry);
    this.#entries.delete(key);
  }

  /** Takes the next app to try. It stays in the queue as taken until it is removed, parked or retried later. */
  take(): string | undefined {
    this.#activateDue();
    const entry = this.#active.pop();
    if (!entry) return undefined;
    entry.state = "taken";
    entry.attempts++;
    return entry.item.key;
  }

  retryLater(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#detach(entry);
    entry.readyAt = this.#now() + this.#delay(entry);
    entry.state = "backoff";
    this.#backoff.push(entry);
  }

  /**
   * Delays an app that a taint evicted from its node, longer each time: another node may evict it as well. The first time it is tried at
   * once, and after ten minutes without an eviction again.
   */
  delayEvicted(key: string): void {
    for (const [other, { at }] of this.#evictions) {
      if (at + evictionMemoryMs > this.#now()) break;
      this.#evictions.delete(other);
    }
    const count = (this.#evictions.get(key)?.count ?? 0) + 1;
    // Deleted first, so that the oldest eviction stays first in the Map.
    this.#evictions.delete(key);
    this.#evictions.set(key, { count, at: this.#now() });
    const entry = this.#entries.get(key);
    if (!entry || entry.state === "taken" || count === 1) return;
    entry.attempts = count - 1;
    this.retryLater(key);
  }

  /** Parks an app that no node fits until one of the events occurs. */
  park(key: string, helpedBy: readonly ClusterEvent[]): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#detach(entry);
    Object.assign(entry, {
      helpedBy,
      state: "parked",
      parkedAt: this.#now(),
      readyAt: this.#now() + this.#delay(entry),
    });
    this.#parked.add(entry);
  }

  /** Returns the parked apps that the event may help, in the order in which they would be tried. */
  helpedBy(event: ClusterEvent): QueuedApp[] {
    const found = [...this.#parked].filter(({ helpedBy }) => helpedBy.includes(event));
    return found.sort((a, b) => comesFirst(a, b) ? -1 : 1).map(({ item }) => item);
  }

  /** Tries a parked app again: at once if it is `certain` to fit, else after its backoff. */
  wake(key: string, { certain = false } = {}): void {
    const entry = this.#entries.get(key);
    if (entry?.state !== "parked") return;
    this.#move(entry, certain || entry.readyAt <= this.#now() ? "active" : "backoff");
  }

  /** Returns the time until the next app becomes active by itself; Infinity if none does. */
  waitMs(): number {
    if (this.#active.size > 0) return 0;
    const [oldest] = this.#parked;
    const dueAt = Math.min(
      this.#backoff.peek()?.readyAt ?? Infinity,
      (oldest?.parkedAt ?? Infinity) + flushMs,
    );
    return Math.max(0, dueAt - this.#now());
  }

  #activateDue(): void {
    for (
      let entry = this.#backoff.peek();
      entry && entry.readyAt <= this.#now();
      entry = this.#backoff.peek()
    ) {
      this.#move(entry, "active");
    }
    // A Set iterates in the order in which they were parked.
    for (const entry of this.#parked) {
      if (entry.parkedAt + flushMs > this.#now()) break;
      this.#move(entry, "active");
    }
  }

  #move(entry: QueueEntry, state: "active" | "backoff"): void {
    this.#detach(entry);
    entry.state = state;
    (state === "active" ? this.#active : this.#backoff).push(entry);
  }

  #detach(entry: QueueEntry): void {
    this.#active.remove(entry);
    this.#backoff.remove(entry);
    this.#parked.delete(entry);
  }

  #delay({ attempts }: QueueEntry): number {
    return Math.min(maxBackoffMs, initialBackoffMs * 2 ** Math.max(0, Math.min(attempts, 20) - 1));
  }
}

function comesFirst({ item: a }: QueueEntry, { item: b }: QueueEntry): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority;
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt;
  return a.key < b.key;
}
