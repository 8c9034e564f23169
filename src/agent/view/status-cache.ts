/**
 * The current status of every app, as reports and the server show it. It is built once per change of its inputs, which are
 * replaced and never modified: polling all apps every second costs next to nothing.
 */
import type { NCAppStatus } from "../../api/types.ts";
import type { CapsState } from "../../supervisor/confinement/confinement.ts";
import { type Measured, statusOf, transitionTimes, withTransitions } from "../../supervisor/status.ts";
import type { SupervisedApp } from "../../supervisor/supervisor.ts";
import type { AppRecord } from "../../supervisor/types.ts";
import type { Meter } from "./meter.ts";

export interface StatusCache {
  /** Returns the status of the app now; conditions keep the time of their last transition. */
  of(app: SupervisedApp): NCAppStatus;
  forget(key: string): void;
}

export interface StatusCacheParts {
  meter: Pick<Meter, "latest">;
  bootId: string;
  now?: () => number;
}

interface CachedStatus {
  record: AppRecord;
  caps: CapsState | undefined;
  measured: Measured | undefined;
  status: NCAppStatus;
}

export function createStatusCache({ meter, bootId, now = Date.now }: StatusCacheParts): StatusCache {
  const entries = new Map<string, CachedStatus>();
  return {
    of(app) {
      const { key, record, caps } = app;
      const measured = meter.latest(app);
      const before = entries.get(key);
      if (before && before.record === record && before.caps === caps && before.measured === measured) {
        return before.status;
      }
      const plain = statusOf({ record: sinceBoot(record, bootId), caps, measured });
      const known = before ? {} : transitionTimes(record);
      const status = withTransitions(plain, before?.status.conditions, now(), known);
      entries.set(key, { record, caps, measured, status });
      return status;
    },
    forget: (key) => void entries.delete(key),
  };
}

/** A run of an earlier boot is over, even if its record does not say so until its runner has checked. */
function sinceBoot(record: AppRecord, bootId: string): AppRecord {
  if (!record.run || record.run.bootId === bootId) return record;
  const { run: _run, others: _others, ...rest } = record;
  const message = "the node was booted after the app had been started";
  return { ...rest, phase: "Pending", reason: "NodeRebooted", message };
}
