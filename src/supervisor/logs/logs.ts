/** Looks at the logs of apps, and says in the agent's own log what came of it. */
import type { Logger } from "../../lib/log.ts";
import { folderOf, type Layout, logPath } from "../layout.ts";
import { logPolicyOf } from "./policy.ts";
import { rotateIfNeeded, type RotationPolicy } from "./rotation.ts";
import type { AppRecord } from "../types.ts";

export { parseBytes, parseCount } from "./policy.ts";
export { readLog, readTail } from "./reader.ts";
export { forgetLog, type RotationPolicy } from "./rotation.ts";

/** Rotates the logs that have grown too long; one after the other, since the disk is the same. */
export async function rotateAll(
  apps: { key: string; record: AppRecord }[],
  { layout, log, logs }: { layout: Layout; log: Logger; logs: RotationPolicy },
): Promise<void> {
  for (const { key, record } of apps) {
    const { policy, problem: wrong } = logPolicyOf(record.app, logs);
    const path = logPath(layout, folderOf(record.app));
    const { problem, droppedBytes, lossless } = await rotateIfNeeded(path, policy);
    if (wrong) log.warn("a log annotation is passed over", { app: key, why: wrong });
    if (problem) log.warn("a log could not be rotated", { app: key, error: problem });
    if (!lossless) log.debug("a log was cut where its file system may lose a line", { app: key });
    if (droppedBytes > 0) log.warn("a log grew faster than it may be kept", { app: key, droppedBytes });
  }
}
