/** Runs a command in the app's cgroup, as its user, in its folder. Exit code 0 is success. */
import { quote } from "../../api/field-error.ts";
import type { Entrance } from "../launcher/launcher.ts";
import { execInRun, type ExecResult, RunContextLostError } from "../run/run.ts";
import type { ProbeResult } from "./probe-result.ts";

const keptOutput = 1024;

/** Runs the command once, for `timeoutMs` at most. Throws if it could not be executed: that says nothing about the app. */
export async function probeExec(
  command: string[],
  { runFolder, launcher, pid }: { runFolder: string; launcher: Entrance; pid?: number },
  timeoutMs: number,
): Promise<ProbeResult> {
  try {
    const result = await execInRun(runFolder, command, {
      timeoutMs,
      launcher,
      pid,
      captureBytes: keptOutput,
    });
    if (result.notExecuted) throw new Error(result.notExecuted + hintAtWords(command));
    return judgeCommand(command, result, timeoutMs);
  } catch (error) {
    // Only a restart of the app fixes this, so it counts as the app's failure.
    if (error instanceof RunContextLostError) return { ok: false, message: error.message };
    throw error;
  }
}

/** What to write instead of a whole command line as one word. */
function hintAtWords([file = "", ...rest]: string[]): string {
  const words = file.trim().split(/\s+/);
  if (rest.length > 0 || words.length < 2) return "";
  return `; each word is an item of its own: command: ${quote(words)}, or ${quote(["sh", "-c", file])}`;
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
