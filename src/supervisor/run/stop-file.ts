import type { Logger } from "../../lib/log.ts";
import type { Launcher } from "../launcher/launcher.ts";
import { findOutput } from "./copy-log.ts";
import { execInRun } from "./enter.ts";
import { folderOf, type Layout, logFolder, markPath, runFolder, stopCopyPath } from "../layout.ts";
import { keyOf } from "../../api/names.ts";
import { prepareScript } from "../script/script.ts";
import { readRunContext } from "./run-context.ts";
import type { AppRecord, Run } from "../types.ts";

/**
 * Runs `spec.stopFile` inside of the run and waits for it to exit, at most until the stop's deadline. If it fails, the stop
 * continues. An agent that ends meanwhile leaves it running; the next agent runs it again.
 */
export async function runStopFile(
  record: AppRecord,
  run: Run,
  { layout, launcher, log, now, signal }: {
    layout: Layout;
    launcher: Launcher;
    log: Logger;
    now: () => number;
    signal: AbortSignal;
  },
): Promise<void> {
  const { stopFile = "" } = record.app.spec;
  const app = keyOf(record.app);
  const folder = runFolder(layout, run.id);
  try {
    const { user } = await readRunContext(folder);
    const { command } = await prepareScript(stopFile, {
      field: "spec.stopFile",
      copyPath: stopCopyPath(layout, run.id),
      user,
      files: launcher,
    });
    const result = await execInRun(folder, command, {
      timeoutMs: Math.max(0, (run.stop?.deadline ?? 0) - now()),
      launcher,
      log: logFolder(layout, folderOf(record.app)),
      output: findOutput(markPath(layout, run.id)),
      signal,
    });
    if (result.code !== 0) log.warn("stop file failed", { app, stopFile, ...result });
  } catch (error) {
    if (signal.aborted) return log.info("leaving a stop file running", { app, stopFile });
    log.warn("cannot run a stop file", { app, stopFile, error });
  }
}
