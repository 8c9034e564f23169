/**
 * One agent per state folder: two would start every app twice.
 *
 * Guarantees: of agents that start at the same time exactly one gets the lock, also if a dead agent left its own; the lock of a
 * living agent is never removed by another. A lock from before a power loss does not count: it names another boot.
 * Caveats: the file system of the folder must support hard links, which appear whole or not at all. An agent in another pid
 * namespace is invisible from here and counts as dead.
 */
import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, readIfExists, writeNew } from "../lib/files.ts";
import { isAlive, parseStat, readBootId } from "../supervisor/processes.ts";

/** Locks the folder and returns the unlock function, or throws with the pid of the holder. The lock of a dead agent is replaced. */
export async function lockState(stateDir: string): Promise<() => Promise<void>> {
  await mkdir(stateDir, { recursive: true, mode: 0o711 });
  const path = join(stateDir, "agent.lock");
  const own = `${await readBootId()}\n${await readFile("/proc/self/stat", "utf8")}`;
  const holder = await acquire(path, own);
  if (holder !== undefined) {
    throw new Error(
      `--state-dir ${stateDir}: process ${holder} is an agent that uses the same folder; stop it first`,
    );
  }
  return () => removeIf(path, own);
}

/** Creates the file with this text, or resolves to the pid of the living process that holds it. */
async function acquire(path: string, own: string): Promise<number | undefined> {
  while (!await createWhole(path, own)) {
    const found = await readIfExists(path);
    if (found === undefined) continue;
    const holder = await livingHolder(found, own);
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

/** Reports whether the file was created; it has all of its text from the start, so that no reader finds half of it. */
async function createWhole(path: string, text: string): Promise<boolean> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeNew(temporary, text);
    await link(temporary, path);
    return true;
  } catch (cause) {
    if (errorCode(cause) === "EEXIST") return false;
    throw new Error(`cannot create ${path}: ${errorCode(cause)}`, { cause });
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Pids are reused, after a boot or in another namespace: the start time identifies the process. */
async function livingHolder(text: string, own: string): Promise<number | undefined> {
  const [bootId, stat = ""] = text.split("\n");
  const holder = parseStat(stat);
  if (!holder || !own.startsWith(`${bootId}\n`)) return undefined;
  return isAlive(holder) ? holder.pid : undefined;
}

async function removeIf(path: string, text: string): Promise<void> {
  if (await readIfExists(path) === text) await rm(path, { force: true });
}
