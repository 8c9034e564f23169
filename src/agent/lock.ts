/**
 * One agent per state folder: two would start every app twice.
 *
 * Guarantees: of agents that start at once exactly one gets the lock, also where a dead one left its own; the lock of a living
 * agent is never removed by another. A machine that lost power leaves no lock that counts: it names another boot.
 * Caveats: the folder's file system must know hard links, as they are what appears whole or not at all. An agent in another pid
 * namespace cannot be seen from here, and counts as dead.
 */
import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, readIfThere, writeNew } from "../lib/files.ts";
import { isAlive, parseStat, readBootId } from "../supervisor/processes.ts";

/** Takes the folder, or says which process has it. The lock of an agent that died counts for nothing. */
export async function lockState(stateDir: string): Promise<() => Promise<void>> {
  await mkdir(stateDir, { recursive: true, mode: 0o711 });
  const path = join(stateDir, "agent.lock");
  const own = `${await readBootId()}\n${await readFile("/proc/self/stat", "utf8")}`;
  const holder = await take(path, own);
  if (holder !== undefined) {
    throw new Error(
      `--state-dir ${stateDir}: process ${holder} is an agent with the same state; stop it first`,
    );
  }
  return () => removeIf(path, own);
}

/** Puts the text there, or resolves to the pid of the living process that has the place. */
async function take(path: string, own: string): Promise<number | undefined> {
  while (!await createWhole(path, own)) {
    const found = await readIfThere(path);
    if (found === undefined) continue;
    const holder = await livingHolder(found, own);
    if (holder !== undefined) return holder;
    // Two that both saw a dead one's lock must not both remove it: the second would remove the lock of the first. So that is
    // done under a lock of its own; who died in the middle of it is dealt with in the same way.
    const remover = await take(`${path}.removal`, own);
    if (remover !== undefined) return remover;
    try {
      await removeIf(path, found);
    } finally {
      await rm(`${path}.removal`, { force: true });
    }
  }
  return undefined;
}

/** Whether the file was created; with all of its text from the start, so that nobody takes a half-written one for damaged. */
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

/** A pid is given out again, after a boot or in another namespace: the start time tells who it was. */
async function livingHolder(text: string, own: string): Promise<number | undefined> {
  const [bootId, stat = ""] = text.split("\n");
  const holder = parseStat(stat);
  if (!holder || !own.startsWith(`${bootId}\n`)) return undefined;
  return isAlive(holder) ? holder.pid : undefined;
}

async function removeIf(path: string, text: string): Promise<void> {
  if (await readIfThere(path) === text) await rm(path, { force: true });
}
