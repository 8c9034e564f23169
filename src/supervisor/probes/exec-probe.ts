/** Runs a command in the app's cgroup, as its user, in its folder. Exit code 0 is success. */
import type { Entrance } from "../launcher/launcher.ts";
import { execInRun, type ExecResult, RunContextLostError } from "../run/run.ts";
import type { ProbeResult } from "./probe-result.ts";

const keptOutput = 1024;

/** Runs the command once, for `timeoutMs` at most. Throws only if the node could not run it. */
export async function probeExec(
  command: string[],
  { runFolder, launcher }: { runFolder: string; launcher: Entrance },
  timeoutMs: number,
): Promise<ProbeResult> {
  try {
    const result = await execInRun(runFolder, command, {
      timeoutMs,
      launcher,
      captureBytes: keptOutput,
    });
    return judgeCommand(command, result, timeoutMs);
  } catch (error) {
    // Only a restart of the app fixes this, so it counts as the app's failure.
    if (error instanceof RunContextLostError) return { ok: false, message: error.message };
    throw error;
  }
}

function judgeCommand(
  [file]: string[],
  { code, timedOut, output }: ExecResult,
  timeoutMs: number,
): ProbeResult {
  const name = `command ${JSON.stringify(file)}`;
  if (timedOut) return { ok: false, message: `${name} did not end in ${timeoutMs / 1000} s` };
  return { ok: code === 0, message: output.trim() || `${name} ended with status ${code}` };
}
