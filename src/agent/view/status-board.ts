/**
 * The present status of every app, as reports and the server show it. It is built once for each change of what it is made from,
 * which are objects that are replaced and never changed: who asks for all apps every second costs next to nothing.
 */
import { readFileSync } from "node:fs";
import type { NCAppStatus } from "../../api/types.ts";
import type { CapsState } from "../../supervisor/confinement/confinement.ts";
import { isReady, type Measured, statusOf, withTransitions } from "../../supervisor/status.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { AppRecord } from "../../supervisor/types.ts";
import type { Meter } from "./meter.ts";

export interface StatusBoard {
  /** The status now; conditions keep the time of their last change. */
  status(key: string): NCAppStatus | undefined;
  forget(key: string): void;
}

export interface StatusBoardParts {
  supervisor: Pick<Supervisor, "get">;
  meter: Pick<Meter, "latest">;
  /** Tells this boot of the machine from others. */
  bootId?: string;
  now?: () => number;
}

interface Entry {
  record: AppRecord;
  caps: CapsState | undefined;
  measured: Measured | undefined;
  status: NCAppStatus;
}

/** Makes an empty board. */
export function createStatusBoard(
  { supervisor, meter, bootId = readBootId(), now = Date.now }: StatusBoardParts,
): StatusBoard {
  const entries = new Map<string, Entry>();
  return {
    status(key) {
      const known = supervisor.get(key);
      if (!known) return undefined;
      const { record, caps } = known;
      const measured = meter.latest(key);
      const before = entries.get(key);
      if (before && before.record === record && before.caps === caps && before.measured === measured) {
        return before.status;
      }
      const shown = sinceBoot(record, bootId);
      const plain = statusOf({ record: shown, ready: isReady(shown), caps, measured });
      const status = withTransitions(plain, before?.status.conditions, now());
      entries.set(key, { record, caps, measured, status });
      return status;
    },
    forget: (key) => void entries.delete(key),
  };
}

/** A run of an earlier boot is over, whatever its record says until its runner has looked. */
function sinceBoot(record: AppRecord, bootId: string): AppRecord {
  if (!record.run || record.run.bootId === bootId) return record;
  const { run: _run, others: _others, ...rest } = record;
  const message = "the node was booted after the app had been started";
  return { ...rest, phase: "Pending", reason: "NodeRebooted", message };
}

function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}
