/**
 * The present status of every app, as reports and the server show it.
 */
import type { Condition, NCAppStatus } from "../api/types.ts";
import { isReady, statusOf, withTransitions } from "../supervisor/status.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { Meter } from "./meter.ts";

export interface StatusBoard {
  /** The status now; conditions keep the time of their last change. */
  status(key: string): NCAppStatus | undefined;
  /** Takes over the times of conditions that an earlier agent reported. */
  seed(key: string, conditions: Condition[] | undefined): void;
  forget(key: string): void;
}

export function createStatusBoard(
  { supervisor, meter, now = Date.now }: { supervisor: Supervisor; meter: Meter; now?: () => number },
): StatusBoard {
  const conditions = new Map<string, Condition[]>();
  return {
    status(key) {
      const known = supervisor.get(key);
      if (!known) return undefined;
      const ready = isReady(known.record);
      const plain = statusOf({ record: known.record, ready, caps: known.caps, measured: meter.latest(key) });
      const status = withTransitions(plain, conditions.get(key), now());
      conditions.set(key, status.conditions ?? []);
      return status;
    },
    seed(key, known) {
      if (known && !conditions.has(key)) conditions.set(key, known);
    },
    forget: (key) => void conditions.delete(key),
  };
}
