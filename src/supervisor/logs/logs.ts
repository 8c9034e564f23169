/**
 * Logs of apps: the files that apps append to, rotated without losing a byte, and read as one stream.
 *
 * rotation.ts cuts a log that is too long (cut.ts, collapse.ts) into numbered parts (log-parts.ts), and writes each cut down
 * (rotation-state.ts), so that the next agent can finish it (rotation-recovery.ts). log-stream.ts joins the parts to one stream while
 * rotations continue; read-log.ts reads lines from it, and log-waiter.ts waits for more. log-policy.ts has the limits.
 */
import type { Logger } from "../../lib/log.ts";
import { folderOf, type Layout, logPath } from "../layout.ts";
import { logPolicyOf } from "./log-policy.ts";
import { rotateIfNeeded, type RotationPolicy } from "./rotation.ts";
import type { AppRecord } from "../types.ts";

export { parseBytes, parseCount } from "./log-policy.ts";
export { readLog, readTail } from "./read-log.ts";
export { forgetLog, type RotationPolicy } from "./rotation.ts";

/** Rotates the logs that are too long, one after the other since they share a disk, and reports problems in the agent's own log. */
export async function rotateAll(
  apps: { key: string; record: AppRecord }[],
  { layout, log, logs }: { layout: Layout; log: Logger; logs: RotationPolicy },
): Promise<void> {
  for (const { key, record } of apps) {
    const { policy, problem: invalid } = logPolicyOf(record.app, logs);
    const path = logPath(layout, folderOf(record.app));
    const { problem, droppedBytes, lossless } = await rotateIfNeeded(path, policy);
    if (invalid) log.warn("ignoring an invalid log annotation", { app: key, why: invalid });
    if (problem) log.warn("cannot rotate a log", { app: key, error: problem });
    if (!lossless) log.debug("rotated a log on a file system where a line may get lost", { app: key });
    if (droppedBytes > 0) {
      log.warn("dropped the oldest bytes of a log that grew too fast", { app: key, droppedBytes });
    }
  }
}
