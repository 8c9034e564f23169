/**
 * One agent per state folder: two would start every app twice.
 *
 * The lock is a symbolic link whose target names the agent's process: a link appears whole or not at all, and needs no data block, so
 * an agent can start on a full disk and free what its apps' logs may not keep.
 * Guarantees: of agents that start at the same time exactly one gets the lock, also if a dead agent left its own; the lock of a
 * living agent is never removed by another. A lock from before a power loss does not count: it names another boot.
 * Caveat: an agent in another pid namespace is invisible from here and counts as dead.
 */
import { lstat, readFile, readlink, rm, symlink } from "node:fs/promises";
import { ensureFolder, errorCode, explainFileError, whoElseCanChange } from "../lib/files.ts";
import { lockPath } from "../supervisor/layout.ts";
import { isAlive, parseStat, readBootId } from "../supervisor/processes.ts";

/** Locks the folder and returns the unlock function, or throws with the pid of the holder. The lock of a dead agent is replaced. */
export async function lockState(stateDir: string): Promise<() => Promise<void>> {
  await ensureFolder(stateDir, { mode: 0o711 }).catch((error) => {
    const why = folderErrors[errorCode(error)] ?? explainFileError(error);
    // Without its cause, which says the same.
    throw new Error(`--state-dir ${stateDir}: ${why}`);
  });
  const { uid } = await lstat(stateDir);
  // What is there decides what runs as whom. Its mode is set by the supervisor.
  const other = whoElseCanChange({ uid, mode: 0 });
  if (other) throw new Error(`--state-dir ${stateDir}: ${other}: name another folder, or chown it`);
  const path = lockPath({ stateDir });
  const self = parseStat(await readFile("/proc/self/stat", "utf8"));
  const own = `${await readBootId()} ${self?.pid} ${self?.startTime}`;
  const holder = await acquire(path, own);
  if (holder !== undefined) {
    throw new Error(
      `--state-dir ${stateDir}: process ${holder} is an agent that uses the same folder; stop it first`,
    );
  }
  return () => removeIf(path, own);
}

/** What keeps the folder from being used, where the words for files would mislead. */
const folderErrors: Record<string, string | undefined> = {
  ENOENT: "no folder can be created there",
  ENOTDIR: "not a folder, or below a file; instead of a link, name the folder that it leads to",
};

/** Creates the lock with this target, or resolves to the pid of the living process that holds it. */
async function acquire(path: string, own: string): Promise<number | undefined> {
  while (!await createLink(path, own)) {
    const found = await readLock(path);
    if (found === undefined) continue;
    const holder = livingHolder(found, own);
    if (holder !== undefined) return holder;
    // Two agents that see the same dead lock must not both remove it: the second would remove the lock of the first. So removal
    // has a lock of its own, which is recovered in the same way.
    const remover = await acquire(`${path}.removal`, own);
    if (remover !== undefined) return remover;
    try {
      await removeIf(path, found);
    } finally {
      await rm(`${path}.removal`, { force: true });
    }
  }
  return undefined;
}

/** Reports whether the link was created. */
async function createLink(path: string, target: string): Promise<boolean> {
  try {
    await symlink(target, path);
    return true;
  } catch (cause) {
    if (errorCode(cause) === "EEXIST") return false;
    throw new Error(`cannot create ${path}: ${explainFileError(cause)}`);
  }
}

/** Returns the target of the lock, or the text of a file in its place; undefined if there is none. */
async function readLock(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    if (errorCode(error) !== "EINVAL") throw error;
    return `a file: ${await readFile(path, "latin1")}`;
  }
}

/** Pids are reused, after a boot or in another namespace: the start time identifies the process. */
function livingHolder(text: string, own: string): number | undefined {
  const [, bootId, pid, startTime = ""] = /^(\S+) (\d{1,10}) (\d+)$/.exec(text) ?? [];
  if (bootId === undefined || !own.startsWith(`${bootId} `)) return undefined;
  return isAlive({ pid: Number(pid), startTime }) ? Number(pid) : undefined;
}

async function removeIf(path: string, text: string): Promise<void> {
  if (await readLock(path) === text) await rm(path, { force: true });
}
