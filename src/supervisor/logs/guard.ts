/**
 * Keeps the logs of running apps within bounds while no agent runs: an agent that leaves apps behind also leaves a small `sh`.
 *
 * Guarantees: one guard per state folder, because only the agent that holds the lock starts or ends one; it is gone before an agent
 * rotates. It has no descriptor, variable or cgroup of the agent. It needs no disk space: what identifies it is a symbolic link.
 * It keeps as much as the next agent will.
 * Caveats: a log can grow for the time between two checks, and on file systems without holes it grows on.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readlink, rm, symlink } from "node:fs/promises";
import { resolve } from "node:path";
import { cleanPath } from "../../lib/shell.ts";
import { sleep } from "../../lib/sleep.ts";
import { folderOf, guardPath, type Layout, lockPath, logPath } from "../layout.ts";
import { isAlive, readBootId, readStat, signalProcess } from "../processes.ts";
import { runsOf } from "../run-ref.ts";
import type { AppRecord } from "../types.ts";
import { guardScript } from "./guard-script.ts";
import { logPolicyOf } from "./log-policy.ts";
import type { RotationPolicy } from "./rotation.ts";

export interface GuardOptions {
  /** Moves the guard to where it outlives the agent. */
  keep?: (pid: number) => void;
  pollSeconds?: number;
}

const endTimeoutMs = 5000;

/** Returns the guard's table: the logs that may be written to, and how many bytes each may use in all. Pure. */
export function guardTable(records: AppRecord[], layout: Layout, logs: RotationPolicy): string {
  const mayRun = (record: AppRecord) => runsOf(record).length > 0 || record.hold !== undefined;
  return records.filter(mayRun).map(({ app }) => {
    const { maxBytes, maxFiles } = logPolicyOf(app, logs).policy;
    return `${resolve(logPath(layout, folderOf(app)))}\t${maxBytes * maxFiles}\n`;
  }).join("");
}

/** Starts a guard for the logs in the table, if there are any. The caller holds the lock of the state folder. */
export async function startGuard(
  layout: Layout,
  table: string,
  { keep = () => {}, pollSeconds = 2 }: GuardOptions = {},
): Promise<void> {
  if (table === "") return;
  const [link, lock] = [resolve(guardPath(layout)), resolve(lockPath(layout))];
  const args = ["-c", guardScript, "nckubelet-log-guard", link, lock, String(pollSeconds)];
  const guard = spawn("/bin/sh", args, {
    cwd: "/",
    env: { PATH: cleanPath, LC_ALL: "C" },
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  guard.unref();
  await once(guard, "spawn");
  // It waits for its table. Without one, it ends.
  try {
    keep(guard.pid!);
    await symlink(`${readBootId()} ${guard.pid} ${readStat(guard.pid!)?.startTime}`, link);
    guard.stdin.write(table);
  } finally {
    guard.stdin.end();
    await once(guard.stdin, "close");
  }
}

/** Ends the guard that an earlier agent left; resolves when it is gone. */
export async function endGuard(layout: Layout): Promise<void> {
  const path = guardPath(layout);
  const target = await readlink(path).catch(() => "");
  const [, bootId, pid, startTime = ""] = /^(\S+) (\d{1,10}) (\d+)$/.exec(target) ?? [];
  if (bootId === readBootId()) {
    const guard = { pid: Number(pid), startTime };
    await signalProcess(guard, "SIGTERM");
    const deadline = Date.now() + endTimeoutMs;
    while (isAlive(guard) && Date.now() < deadline) await sleep(5);
    // It waits for a disk that hangs.
    await signalProcess(guard, "SIGKILL");
  }
  await rm(path, { force: true });
}
