/**
 * One agent per state folder: two would start every app twice.
 */
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { readIfThere, writeFileAtomic } from "../lib/files.ts";
import { isAlive, parseStat, readBootId } from "../supervisor/processes.ts";

/** Takes the folder, or says which process has it. The lock of an agent that died counts for nothing. */
export async function lockState(stateDir: string): Promise<() => Promise<void>> {
  await mkdir(stateDir, { recursive: true, mode: 0o711 });
  const path = join(stateDir, "agent.lock");
  const bootId = await readBootId();
  const [itsBoot, stat = ""] = (await readIfThere(path) ?? "").split("\n");
  const holder = parseStat(stat);
  if (holder && itsBoot === bootId && holder.pid !== process.pid && await isAlive(holder)) {
    throw new Error(
      `--state-dir ${stateDir}: process ${holder.pid} is an agent with the same state; stop it first`,
    );
  }
  await writeFileAtomic(path, `${bootId}\n${await readFile("/proc/self/stat", "utf8")}`);
  return () => rm(path, { force: true });
}
