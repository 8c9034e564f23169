/**
 * A program that the storm kills and pauses: agent, scheduler, API server, etcd. Faults of one member run one at a time. A killed
 * member is restarted until it serves, as its service manager would do.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Daemon } from "../../harness/daemon.ts";
import type { EventRing } from "./events.ts";

const retryMs = 500;
const reviveMs = 90_000;

export class Member {
  readonly name: string;
  readonly daemon: Daemon;
  readonly #events: EventRing;
  #last: Promise<unknown> = Promise.resolve();
  /** True while a fault keeps it down, or it is restarting. */
  #isDown = true;
  /** How often it ended without a fault. */
  ownEnds = 0;

  constructor(name: string, daemon: Daemon, events: EventRing, { runs = false } = {}) {
    this.name = name;
    this.daemon = daemon;
    this.#events = events;
    this.#isDown = !runs;
  }

  get pid(): number | undefined {
    return this.daemon.pid;
  }

  /** Runs `work` when no other fault uses this member. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {});
    return mine;
  }

  /** Waits for the current fault. */
  async idle(): Promise<void> {
    await this.#last;
  }

  start(): Promise<void> {
    return this.exclusive(() => this.#revive());
  }

  /** Kills it, runs `meanwhile`, and restarts it. */
  kill(meanwhile: () => Promise<void>, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    return this.exclusive(async () => {
      this.#isDown = true;
      await this.daemon.kill(signal);
      await meanwhile();
      await this.#revive();
    });
  }

  /** Pauses it for a while; its connections stay open. */
  freeze(ms: number): Promise<void> {
    return this.exclusive(async () => {
      await this.daemon.pause();
      await pause(ms);
      this.daemon.resume();
    });
  }

  /** Stops it for good. */
  stop(signal: NodeJS.Signals): Promise<void> {
    return this.exclusive(async () => {
      this.#isDown = true;
      await this.daemon.kill(signal);
    });
  }

  /** Detects an end that no fault explains, and restarts it. */
  async look(): Promise<boolean> {
    if (this.#isDown || this.daemon.pid !== undefined) return true;
    this.ownEnds++;
    this.#events.add(`${this.name} ended by itself`);
    this.#isDown = true;
    await this.exclusive(() => this.#revive());
    return false;
  }

  async #revive(): Promise<void> {
    const deadline = Date.now() + reviveMs;
    for (;;) {
      try {
        await this.daemon.start();
        this.#isDown = false;
        return;
      } catch (error) {
        if (Date.now() > deadline) throw new Error(`${this.name} does not come back`, { cause: error });
        this.#events.add(`${this.name} did not start, trying again: ${lastLine(error)}`);
        await pause(retryMs);
      }
    }
  }
}

function lastLine(error: unknown): string {
  return String((error as Error).message).trimEnd().split("\n").at(-1) ?? "";
}
