/**
 * Ends commands with everything that belongs to their session, also what a shell runs in the background.
 *
 * Guarantees: no process outside of the sessions gets a signal: a session whose leader's pid another process has is not the command's
 * own. What starts while they end, ends with them. Commands that end at the same moment, as when a client with many of them vanishes, cost
 * a few looks at all processes together.
 * Caveat: what started a session of its own lives on, as a daemon that somebody starts by hand is meant to.
 */
import type { ChildProcess } from "node:child_process";
import { readdirSync } from "node:fs";
import process from "node:process";
import { type ProcessStat, readStat } from "../processes.ts";

/** How long a session may take to end after the polite signals. */
const graceMs = 2000;
/** How often a session is looked at while it is killed: what it starts at that moment shows the next time. */
const maxRounds = 8;

/** The children to end. */
const ending = new Set<ChildProcess>();

/** Ends a child of the agent, its session, and those of its children: script(1) gives its child one. */
export function endSession(child: ChildProcess): void {
  ending.add(child);
  if (ending.size === 1) setImmediate(endAll);
}

function endAll(): void {
  const children = [...ending];
  ending.clear();
  const leaders = new Set(children.flatMap(({ pid }) => pid ?? []));
  const all = listProcesses();
  const ofChildren = all.filter(({ pid, parent, session }) => session === pid && leaders.has(parent));
  // A child that has not reached its session yet will lead it.
  const sessions = new Set([...leaders, ...ofChildren.map(({ session }) => session)]);
  const members = all.filter(({ pid, session }) => sessions.has(session) || leaders.has(pid));
  for (const { pid } of members) {
    for (const signal of ["SIGHUP", "SIGTERM", "SIGCONT"] as const) send(pid, signal);
  }
  setTimeout(() => {
    killSessions(sessions, members);
    for (const child of children) child.kill("SIGKILL");
  }, graceMs);
}

/** Kills what is in the sessions, also what was started after `members` were listed, or is meanwhile. */
function killSessions(sessions: Set<number>, members: ProcessStat[]): void {
  const known = new Set(members.map(identify));
  const killed = new Set<number>();
  for (let round = 0; round < maxRounds; round++) {
    const all = listProcesses();
    const foreign = new Set(all.filter((each) => !known.has(identify(each))).map(({ pid }) => pid));
    const fresh = all.filter(({ pid, session }) =>
      sessions.has(session) && !foreign.has(session) && !killed.has(pid)
    );
    if (fresh.length === 0) return;
    for (const { pid } of fresh) {
      killed.add(pid);
      send(pid, "SIGKILL");
    }
  }
}

function identify({ pid, startTime }: ProcessStat): string {
  return `${pid} ${startTime}`;
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
