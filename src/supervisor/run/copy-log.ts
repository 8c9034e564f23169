/**
 * Who copies the output of a run to its log: its launcher and, once that was killed, a copier that the agent starts in its place.
 *
 * The processes of the run hold both ends of their pipe: without a copier, none of them is ended by SIGPIPE, and what they write
 * waits in the pipe; once it is full, so do they. A copier outlives the agent, as a launcher does, and ends with the last process
 * that may write. It locks the claim of the run, so of two copiers one ends at once, and adds itself to the claim.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Launcher, PipeRef } from "../launcher/launcher.ts";
import { linkOf, scanProcesses } from "../process-table.ts";
import { isAlive } from "../processes.ts";
import type { RunRef } from "../types.ts";
import { readMarks } from "./launcher-marks.ts";

/** Starts a copier for a run whose launcher was killed, if one of its processes has the pipe as its stdout or stderr. */
export async function startCopier(
  run: RunRef & { log: string },
  { mark, launcher, detach }: {
    mark: string;
    launcher: Pick<Launcher, "copyCommand">;
    /** Moves the copier to where it outlives the agent. */
    detach: (pid: number) => void;
  },
): Promise<void> {
  const { launcher: killed } = readMarks(mark);
  const pipe = killed?.pipe ?? "";
  const source = pipe && await findPipe({ ...run, launcher: killed }, pipe);
  const [file, ...args] = source && launcher.copyCommand({ mark, log: run.log, pipe, source }) || [];
  if (!file) return;
  const copier = spawn(file, args, { cwd: "/", env: {}, stdio: "ignore", detached: true });
  copier.unref();
  await once(copier, "spawn");
  detach(copier.pid!);
}

/** Where a command that is part of the app writes: the pipe of the run, as whoever copies from it has it; undefined for none. */
export function findOutput(mark: string): PipeRef | undefined {
  const { launcher, copier } = readMarks(mark);
  const reader = [launcher, copier].find((each) => each && isAlive(each));
  return launcher?.pipe && reader ? { pipe: launcher.pipe, source: `/proc/${reader.pid}/fd/0` } : undefined;
}

async function findPipe(run: RunRef, pipe: string): Promise<string | undefined> {
  const members = (await scanProcesses()).membersOf(run).map(({ pid }) => pid);
  // The script's own process first: others may end before the copier is there.
  const pids = run.main && members.includes(run.main.pid) ? [run.main.pid, ...members] : members;
  return pids.flatMap((pid) => [1, 2].map((fd) => `/proc/${pid}/fd/${fd}`))
    .find((path) => linkOf(path) === pipe);
}
