/**
 * Ends commands with everything that belongs to their session, also what a shell runs in the background.
 *
 * Guarantees: no process outside of the sessions gets a signal: a session counts as the command's own only while one of its
 * processes lives that was found first. Commands that end at the same moment, as when a client with many of them vanishes, cost one look at
 * all processes together.
 * Caveat: what started a session of its own lives on, as a daemon that somebody starts by hand is meant to.
 */
import type { ChildProcess } from "node:child_process";
import { readdirSync } from "node:fs";
import process from "node:process";
import { isAlive, type ProcessStat, readStat } from "../processes.ts";

/** How long a session may take to end after the polite signals. */
const graceMs = 2000;

const ending = new Set<ChildProcess>();

/** Ends a child of the agent, its session, and those of its children: script(1) gives its child one. */
export function endSession(child: ChildProcess): void {
  ending.add(child);
  if (ending.size === 1) setImmediate(endAll);
}

function endAll(): void {
  const children = [...ending];
  ending.clear();
  const leaders = new Set(children.map(({ pid }) => pid));
  const all = listProcesses();
  const sessions = new Set(
    all.filter(({ pid, parent, session }) => session === pid && (leaders.has(pid) || leaders.has(parent)))
      .map(({ session }) => session),
  );
  const members = all.filter(({ session }) => sessions.has(session));
  for (const { pid } of members) {
    for (const signal of ["SIGHUP", "SIGTERM", "SIGCONT"] as const) send(pid, signal);
  }
  // A child that has not reached its session yet.
  for (const child of children) child.kill("SIGTERM");
  setTimeout(() => {
    const still = new Set(members.filter(isAlive).map(({ session }) => session));
    if (still.size > 0) {
      for (const { pid, session } of listProcesses()) if (still.has(session)) send(pid, "SIGKILL");
    }
    for (const child of children) child.kill("SIGKILL");
  }, graceMs);
}

function listProcesses(): ProcessStat[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((name) =>
    readStat(Number(name)) ?? []
  );
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
