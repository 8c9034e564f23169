/**
 * The marks that launchers write (launcher/launcher.c), read back. Each is one short write; a reader that finds an empty one waits for
 * the next notification.
 */
import { existsSync, renameSync, statSync, watch } from "node:fs";
import { readdir, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { ensureFolderSync, errorCode, readIfExistsSync, writeNewSync } from "../../lib/files.ts";
import { sleep } from "../../lib/sleep.ts";
import { isAlive, parseStat, signalProcess } from "../processes.ts";
import type { LauncherId, ProcessId, RunView, ScriptExit } from "../types.ts";

export interface LauncherMarks {
  claim: RunView["claim"];
  launcher?: LauncherId;
  /** The last copier, which may have ended; see copy-log.ts. */
  copier?: ProcessId;
  started?: { at: number; main: ProcessId };
  failure?: string;
  exit?: ScriptExit;
}

const kinds = ["claim", "started", "failure", "exit"] as const;
const cancelled = "cancelled";
/** What the agent writes into the exit mark beforehand: longer than any status, so that the status needs no more disk space. */
export const exitPlaceholder = "running\n".padEnd(64, "\n");

/** Reads all marks of a run. An empty mark is being written and counts as missing. */
export function readMarks(mark: string): LauncherMarks {
  // The exit is read first: a reader that sees one also sees the start that came before it.
  const exit = readIfExistsSync(`${mark}.exit`);
  const claim = readClaim(`${mark}.claim`);
  const started = readIfExistsSync(`${mark}.started`);
  // Most runs have none, and an error costs more than the check.
  const failure = existsSync(`${mark}.failure`) ? readIfExistsSync(`${mark}.failure`) : undefined;
  const main = processOf(started ?? "");
  return {
    claim: claim === undefined ? "none" : claim === cancelled ? "cancelled" : "launcher",
    ...readersOf(claim),
    started: main && { at: writtenAt(`${mark}.started`), main },
    failure: failure?.trimEnd() || undefined,
    exit: parseExit(exit, `${mark}.exit`),
  };
}

/** The script's process of a run; undefined if its launcher has not started it yet. */
export function startedPid(mark: string): number | undefined {
  return readMarks(mark).started?.main.pid;
}

/**
 * Reserves space on disk for the exit status, before the launcher is spawned. The file is written in the folder of the run and moved
 * to the marks: a write there would look like that of a launcher.
 */
export function prepareMarks(mark: string, runFolder: string): void {
  ensureFolderSync(dirname(mark));
  const reserved = join(runFolder, "exit");
  writeNewSync(reserved, exitPlaceholder);
  renameSync(reserved, `${mark}.exit`);
}

/**
 * Cancels a run for good, unless its launcher claimed it first; then nothing changes. A symlink is created in one step and needs
 * no data block on a full disk, and a launcher's O_EXCL refuses it as it refuses a file.
 */
export async function cancelRun(mark: string): Promise<void> {
  try {
    await symlink(cancelled, `${mark}.claim`);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/**
 * Waits until the launcher of a run whose script has ended exits, too, or what copies in its place. One that does not is killed: it
 * waits for a log that hangs, or for a foreign process that has the pipe. Throws if the exit mark is yet to come.
 */
export async function waitForLauncher(mark: string, { timeoutMs = 5000 } = {}): Promise<void> {
  const { launcher, copier } = readMarks(mark);
  for (const reader of [launcher, copier]) {
    if (!reader || await hasExited(reader, timeoutMs)) continue;
    if (reader === launcher && !readMarks(mark).exit) {
      throw new Error(`the launcher of ${mark}, process ${reader.pid}, does not exit`);
    }
    await signalProcess(reader, "SIGKILL");
  }
}

/** Waits until a process has exited, or is no longer waited for; false if neither has happened in time. */
export async function hasExited(
  target: ProcessId,
  timeoutMs: number,
  isAwaited: () => boolean = () => true,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (isAlive(target) && isAwaited()) {
    if (performance.now() > deadline) return false;
    await sleep(10);
  }
  return true;
}

export async function removeMarks(mark: string): Promise<void> {
  await Promise.all(kinds.map((kind) => rm(`${mark}.${kind}`, { force: true })));
}

export async function listMarkedRuns(folder: string): Promise<string[]> {
  const runs = (await readdir(folder)).map((file) => runOfMark(file)).filter((run) => run !== undefined);
  return [...new Set(runs)];
}

/**
 * Calls back with the id of the run whose mark was written, undefined if unknown. The returned function ends the watch. A claim says
 * nothing that leads to a decision, and a mark that was only created is still empty.
 */
export function watchMarks(
  folder: string,
  onMark: (runId: string | undefined) => void,
  onError: (error: unknown) => void,
): () => void {
  try {
    const watcher = watch(
      folder,
      (event, file) => {
        if (file === null) onMark(undefined);
        else if (event === "change" && !file.endsWith(".claim")) onMark(runOfMark(file));
      },
    ).on("error", onError);
    return () => watcher.close();
  } catch (error) {
    onError(error);
    return () => {};
  }
}

export function runOfMark(file: string): string | undefined {
  return /^([a-z0-9-]+)\.(claim|started|failure|exit)$/.exec(file)?.[1];
}

const status = "(1?\\d?\\d|2[0-4]\\d|25[0-5])";
const number = "(\\d|[1-5]\\d|6[0-4])";
const exitPattern = new RegExp(
  `^exit ${status}\\n(terminated\\n)?signal ${number}\\n(?:last ${status} ${number}\\n)?(alone\\n)?`,
);

function parseExit(text = "", path: string): ScriptExit | undefined {
  const [, code, terminated, signal, lastCode, lastSignal, alone] = exitPattern.exec(text) ?? [];
  if (code === undefined) return undefined;
  return {
    code: Number(code),
    at: writtenAt(path),
    signal: Number(signal),
    ...(terminated ? { terminated: true } : {}),
    ...(alone
      ? { alone: true }
      : { last: lastCode ? { code: Number(lastCode), signal: Number(lastSignal) } : "unknown" }),
  };
}

function readClaim(path: string): string | undefined {
  try {
    return readIfExistsSync(path);
  } catch (error) {
    if (errorCode(error) === "ELOOP") return cancelled;
    throw error;
  }
}

/** A claim has a line for the launcher, one for its pipe, and one for each copier. */
function readersOf(claim = ""): Pick<LauncherMarks, "launcher" | "copier"> {
  const [first = "", pipe = "", ...copiers] = claim.trimEnd().split("\n");
  const launcher = processOf(first);
  return {
    launcher: launcher && pipe ? { ...launcher, pipe } : launcher,
    copier: processOf(copiers.at(-1) ?? ""),
  };
}

function processOf(line: string): ProcessId | undefined {
  const parsed = parseStat(line);
  return parsed && { pid: parsed.pid, startTime: parsed.startTime };
}

function writtenAt(path: string): number {
  return Math.round(statSync(path).mtimeMs);
}
