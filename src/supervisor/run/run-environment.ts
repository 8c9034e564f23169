/**
 * The environment of a run as a file: the one place where the values of Secrets are written down. The launcher reads it once,
 * commands inside of the app read it again.
 *
 * Guarantees: one file per run, 0600, in a folder that the agent's user owns and nobody else can enter; it goes with its run.
 * The agent puts that folder where memory is: a run never outlives a boot, so neither need its environment.
 * Caveat: whoever empties the folder takes stop files, exec probes and `nckubelet exec` from the apps that run, until their next
 * start. The environment is not read back from /proc: a program may have written over it there, as setproctitle does.
 */
import { access, chmod, lstat, readdir } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { ensureFolder, errorCode, writeNew } from "../../lib/files.ts";
import { encodeEnvironment, type Environment } from "./environment.ts";
import type { RunLayout } from "../layout.ts";

/** Writes down the environment of a new run. */
export async function saveEnvironment(path: string, environment: Environment): Promise<void> {
  await openPrivateFolder(dirname(path));
  await writeNew(path, encodeEnvironment(environment)).catch((cause) => {
    throw new Error(`cannot write the environment of the run to ${path}: ${errorCode(cause)}`, { cause });
  });
}

/** Resolves if the file of a run's environment can be read; an error says what to do if not. */
export async function checkEnvironment(path: string): Promise<void> {
  await access(path).catch((cause) => {
    const why = `cannot read the environment that the app was started with, ${path}: ${errorCode(cause)}`;
    throw new Error(`${why}; a restart of the app writes it anew`, { cause });
  });
}

/** The runs that have an environment. A folder of somebody else tells nothing about our runs. */
export async function listEnvironments({ privateDir }: RunLayout): Promise<string[]> {
  const info = await lstat(privateDir).catch(() => undefined);
  return info?.isDirectory() && isOurs(info) ? await readdir(privateDir) : [];
}

/** It may stand in a folder where others can write, too, such as /tmp: one that they made before us is refused. */
async function openPrivateFolder(path: string): Promise<void> {
  await ensureFolder(dirname(path), { mode: 0o755 });
  await ensureFolder(path);
  const info = await lstat(path);
  if (!isOurs(info)) {
    throw new Error(`cannot keep environments in ${path}: it belongs to user ${info.uid}; remove it`);
  }
  if ((info.mode & 0o077) !== 0) await chmod(path, 0o700);
}

function isOurs({ uid }: { uid: number }): boolean {
  return uid === process.geteuid?.();
}
