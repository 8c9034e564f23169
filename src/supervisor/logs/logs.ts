/**
 * Logs of apps: the files that apps append to, rotated without losing a byte, and read as one stream.
 *
 * rotation.ts cuts a log that is too long (cut.ts, collapse.ts) into numbered parts (log-parts.ts), and writes each cut down
 * (rotation-state.ts), so that the next agent can finish it (rotation-recovery.ts). log-stream.ts joins the parts to one stream while
 * rotations continue; read-log.ts reads lines from it, and log-waiter.ts waits for more. ../log-times.ts knows when lines were written,
 * from the samples in time-file.ts. log-policy.ts has the limits, and guard.ts keeps them, roughly, while no agent runs.
 */
import { isHung } from "../../lib/deadlines/deadlines.ts";
import type { Logger } from "../../lib/log.ts";
import { waitAtMost } from "../../lib/sleep.ts";
import { folderOf, type Layout, logPath } from "../layout.ts";
import { logPolicyOf } from "./log-policy.ts";
import { forgetRotation, type LogLength, rotateIfNeeded, type RotationPolicy } from "./rotation.ts";
import { dropOldSamples, forgetTimes, noteLength } from "./time-file.ts";
import type { AppRecord } from "../types.ts";

export { endGuard, guardTable, startGuard } from "./guard.ts";
export { logPolicyOf, parseBytes, parseCount } from "./log-policy.ts";
export { hasPreviousRun, readLog, type ReadLogOptions, readTail } from "./read-log.ts";
export { type RotationPolicy } from "./rotation.ts";
export { noteRun } from "./time-file.ts";

/** The most lines that a reader may ask for, counted from the end. */
export const maxTailLines = 1_000_000;

export interface CheckOptions {
  layout: Layout;
  log: Logger;
  logs: RotationPolicy;
  now?: () => number;
}

/**
 * Notes how long the logs are, for the times of their lines, and rotates those that are too long: one after the other since they share
 * a disk. Reports problems in the agent's own log.
 */
export async function checkLogs(
  apps: { key: string; record: AppRecord }[],
  { layout, log, logs, now }: CheckOptions,
): Promise<void> {
  for (const { key, record } of apps) {
    const { policy, problem: invalid } = logPolicyOf(record.app, logs);
    const path = logPath(layout, folderOf(record.app));
    const { problem, droppedBytes, lossless, rotated, seen } = await rotateIfNeeded(path, policy);
    if (invalid) log.warn("ignoring an invalid log annotation", { app: key, why: invalid });
    if (problem) log.warn("cannot rotate a log", { app: key, error: problem });
    if (isHung(layout.logDir)) return;
    if (seen) await noteTimes(path, seen, { key, rotated, log, now });
    if (!lossless) log.debug("rotated a log on a file system where a line may get lost", { app: key });
    if (droppedBytes > 0) {
      log.warn("dropped the oldest bytes of a log that grew too fast", { app: key, droppedBytes });
    }
  }
}

/**
 * Notes how long the logs are, for an agent that ends: the next one cannot know when their last lines were written. A rotation that
 * has met a mount that hangs never ends, and is left alone.
 */
export async function noteLengths(
  apps: { key: string; record: AppRecord }[],
  { layout, log, now, rotationMs = 5000 }: Omit<CheckOptions, "logs"> & { rotationMs?: number },
): Promise<void> {
  const anyLength = { maxBytes: Number.MAX_SAFE_INTEGER, maxFiles: 1 };
  for (const { key, record } of apps) {
    const path = logPath(layout, folderOf(record.app));
    const rotation = rotateIfNeeded(path, anyLength);
    if (!await waitAtMost(rotationMs, rotation) || isHung(layout.logDir)) return;
    const { seen } = await rotation;
    if (seen) await noteTimes(path, seen, { key, rotated: false, log, now });
  }
}

/** Forgets what is known about a removed log: a new one may get the same path. */
export function forgetLog(logPath: string): void {
  forgetRotation(logPath);
  forgetTimes(logPath);
  withoutTimes.delete(logPath);
}

/** Logs whose lengths could not be noted: a full disk is reported once for each, not every 10 s. */
const withoutTimes = new Set<string>();

async function noteTimes(
  path: string,
  seen: LogLength,
  { key, rotated, log, now }: { key: string; rotated: boolean; log: Logger; now?: () => number },
): Promise<void> {
  try {
    await noteLength(path, seen, { now });
    if (rotated) await dropOldSamples(path);
    withoutTimes.delete(path);
  } catch (error) {
    if (!withoutTimes.has(path)) {
      log.warn("cannot note when lines of a log were written", { app: key, error });
    }
    withoutTimes.add(path);
  }
}
