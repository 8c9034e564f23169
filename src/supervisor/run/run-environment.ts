/**
 * The environment of a run as a file: the only place where the values of Secrets are written. The launcher reads it once;
 * commands that enter the run read it again.
 *
 * Guarantees: one file per run, mode 0600, in a folder that only the agent's user can enter; it is removed with its run.
 * The agent keeps that folder in memory (tmpfs): a run never outlives a boot, so its environment need not either.
 * Caveat: if the folder is emptied, stop files, exec probes and `nckubelet exec` fail for running apps until their next start.
 * The environment is not read back from /proc: a program may have overwritten it there, as setproctitle does.
 */
import { chmodSync, lstatSync } from "node:fs";
import { access, lstat, readdir } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { ensureFolderSync, errorCode, writeNewSync } from "../../lib/files.ts";
import { encodeEnvironment, type Environment } from "./environment.ts";
import type { RunLayout } from "../layout.ts";

/** Synchronous, since its folder is in memory or, as the socket is there, on a local disk. */
export function saveEnvironment(path: string, environment: Environment): void {
  openPrivateFolder(dirname(path));
  try {
    writeNewSync(path, encodeEnvironment(environment));
  } catch (cause) {
    throw new Error(`cannot keep the environment of the run: ${(cause as Error).message}`, { cause });
  }
}

/** Throws an error that says what to do unless the environment file of a run can be read. */
export async function checkEnvironment(path: string): Promise<void> {
  await access(path).catch((cause) => {
    const why = `cannot read the environment that the app was started with, ${path}: ${errorCode(cause)}`;
    throw new Error(`${why}; restart the app to write it again`, { cause });
  });
}

/** The ids of runs that have an environment file. A folder of another user is ignored. */
export async function listEnvironments({ privateDir }: RunLayout): Promise<string[]> {
  const info = await lstat(privateDir).catch(() => undefined);
  if (!info?.isDirectory() || !isOurs(info)) return [];
  return (await readdir(privateDir)).filter((name) => !name.startsWith("."));
}

/** The parent may be writable by others, such as /tmp: a folder that another user created first is refused. */
function openPrivateFolder(path: string): void {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    ensureFolderSync(dirname(path), { mode: 0o755 });
    ensureFolderSync(path);
  }
  const info = lstatSync(path);
  if (!isOurs(info)) {
    throw new Error(`cannot keep environments in ${path}: it belongs to user ${info.uid}: remove it`);
  }
  if ((info.mode & 0o077) !== 0) chmodSync(path, 0o700);
}

function isOurs({ uid }: { uid: number }): boolean {
  return uid === process.geteuid?.();
}
