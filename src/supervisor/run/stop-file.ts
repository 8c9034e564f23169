/**
 * Runs the stop file of an app inside of it; whatever comes of it, the stop goes on.
 */
import type { Logger } from "../../lib/log.ts";
import { readInside, runInside } from "./enter.ts";
import { folderOf, type Layout, logPath, runFolder, stopCopyPath } from "../layout.ts";
import { keyOf } from "../../api/names.ts";
import { prepareScript } from "../script/script.ts";
import type { AppRecord, Run } from "../types.ts";

/**
 * Runs `spec.stopFile` and waits for its end, for as long as the stop has patience. An agent that ends meanwhile leaves it running;
 * the next one runs it again.
 */
export async function runStopFile(
  record: AppRecord,
  run: Run,
  { layout, log, now, signal }: { layout: Layout; log: Logger; now: () => number; signal: AbortSignal },
): Promise<void> {
  const { stopFile = "" } = record.app.spec;
  const app = keyOf(record.app);
  const folder = runFolder(layout, run.id);
  try {
    const { gid } = await readInside(folder);
    const { command } = await prepareScript(stopFile, {
      field: "spec.stopFile",
      copyPath: stopCopyPath(layout, run.id),
      gid,
    });
    const result = await runInside(folder, command, {
      timeoutMs: Math.max(0, (run.stop?.deadline ?? 0) - now()),
      log: logPath(layout, folderOf(record.app)),
      signal,
    });
    if (result.code !== 0) log.warn("a stop file failed", { app, stopFile, ...result });
  } catch (error) {
    if (signal.aborted) return log.info("a stop file is left running", { app, stopFile });
    log.warn("a stop file could not be run", { app, stopFile, error });
  }
}
