import type { Logger } from "../../lib/log.ts";
import type { Launcher } from "../launcher/launcher.ts";
import { findOutput } from "./copy-log.ts";
import { execInRun, type ExecResult } from "./enter.ts";
import { folderOf, type Layout, logFolder, markPath, runFolder, stopCopyPath } from "../layout.ts";
import { keyOf } from "../../api/names.ts";
import { prepareScript } from "../script/script.ts";
import { statusPid, stopFileMs } from "../decide/decide.ts";
import { readRunContext } from "./run-context.ts";
import type { AppRecord, Run, StopFileEnd } from "../types.ts";

const field = "spec.stopFile";

/**
 * Runs `spec.stopFile` inside of the run and waits for it to exit, or kills it when its part of the grace period is over. Its end is
 * unknown if the signal aborts: an agent that ends meanwhile leaves it running, and the next agent runs it again.
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
): Promise<StopFileEnd | undefined> {
  const { stopFile = "" } = record.app.spec;
  const app = keyOf(record.app);
  const folder = runFolder(layout, run.id);
  const timeoutMs = run.stop ? stopFileMs(run.stop, now()) : 0;
  const label = `${field}: ${JSON.stringify(stopFile)}`;
  const end = (problem?: string): StopFileEnd => {
    if (problem !== undefined) log.warn("a stop file failed", { app, problem });
    return { problem };
  };
  try {
    const { user, workingDir } = await readRunContext(folder);
    const { command } = await prepareScript(stopFile, {
      field,
      copyPath: stopCopyPath(layout, run.id),
      user,
      workingDir,
      files: launcher,
    });
    const result = await execInRun(folder, command, {
      timeoutMs,
      launcher,
      pid: statusPid(run),
      log: logFolder(layout, folderOf(record.app)),
      output: findOutput(markPath(layout, run.id)),
      signal,
    });
    return end(describeFailure(label, result, timeoutMs));
  } catch (error) {
    if (signal.aborted) {
      log.info("leaving a stop file running", { app, stopFile });
      return undefined;
    }
    const { message } = error as Error;
    return end(message.startsWith(field) ? message : `${label}: ${message}`);
  }
}

/** What went wrong with a command in a run; undefined if it succeeded. */
export function describeFailure(
  label: string,
  { code, signal, timedOut, notExecuted }: ExecResult,
  timeoutMs: number,
): string | undefined {
  if (timedOut) return `${label} did not end in ${Number((timeoutMs / 1000).toFixed(1))} s and was killed`;
  if (notExecuted) return `${label}: ${notExecuted}`;
  if (code === 0) return undefined;
  return `${label} ended ${signal ? `by ${signal}` : `with status ${code}`}`;
}
