/**
 * The sets that are to be planned: when something has changed for them, and when their last plan said so.
 *
 * Guarantees: one plan of a set at a time, and soon after the first change, however many follow; a plan that fails is repeated after
 * waits that grow, or when something changes. Setting the machine's clock neither delays nor hurries a plan.
 */
import type { Logger } from "../lib/log.ts";
import { type Clock, systemClock } from "../report/clock.ts";
import { createKeyedWriter } from "../report/keyed-writer.ts";
import type { Reconciled } from "./reconcile.ts";

export interface SetQueue {
  /** Something may have changed for the set with this key. */
  add(key: string): void;
  close(): void;
}

export interface SetQueueOptions {
  /** Plans a set and writes; undefined if there is nothing to plan. */
  reconcile(key: string): Promise<Reconciled | undefined>;
  /** Changes of a set within this time are planned together. */
  settleMs: number;
  log: Logger;
  clock?: Clock;
}

export function createSetQueue({ reconcile, settleMs, log, clock = systemClock }: SetQueueOptions): SetQueue {
  /** When each set is due; a set that is not in it has nothing to do. */
  const due = new Map<string, number>();
  const dueBy = (key: string, at: number) => due.set(key, Math.min(at, due.get(key) ?? Infinity));
  const queue = createKeyedWriter<string>({
    what: "changes of sets",
    log,
    maxInFlight: 4,
    clock,
    due: (key) => due.has(key) ? { at: due.get(key)!, urgent: true } : undefined,
    async write(key) {
      // What changes from now on is planned next.
      due.delete(key);
      try {
        const result = await reconcile(key);
        if (!result) return "skipped";
        const { again, checkAt } = result;
        if (again) dueBy(key, clock.now() + settleMs);
        else if (checkAt !== undefined) dueBy(key, clock.now() + Math.max(0, checkAt - clock.wall()));
      } catch (error) {
        dueBy(key, clock.now());
        throw error;
      }
    },
  });
  return {
    add(key) {
      dueBy(key, clock.now() + settleMs);
      queue.scheduleSeen(key);
    },
    close: () => queue.close(),
  };
}
