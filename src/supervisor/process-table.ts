/**
 * Finds the processes of runs anywhere on the machine, whatever cgroup, session or environment they have moved to.
 *
 * A process belongs to a run if it is the script's own process, carries the marker of the run, has the run's pipe as its stdout or
 * stderr, or is a child of the run's launcher, which adopts orphans; and so does everything that such a process started, or that is in a
 * session or process group that it leads. Once found, a process is remembered by pid and start time, also after its parent has ended. The run's exec processes and what they
 * started are apart. Every process can write any marker: one in the cgroup of a run belongs to that run, whatever its marker says,
 * and the marker of a run that has a cgroup counts only on processes of root and of the agent's user. Others cannot leave a cgroup.
 * Cost: one small read per process of the machine, and three more for each new one.
 * Caveat: after the launcher was killed, a process that has cleared its environment, closed its outputs, left the session and lost its
 * parent before the first scan is not found.
 */
import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { sleep } from "../lib/sleep.ts";
import {
  execMarker,
  type ProcessStat,
  readProcNow,
  readStat,
  readVariables,
  runMarker,
} from "./processes.ts";
import { isRunId } from "./run-ref.ts";
import type { ProcessId, RunRef } from "./types.ts";

export interface SeenProcess extends ProcessStat {
  /** The run that it belongs to for certain; "" if none is known. */
  runId: string;
  /** The run whose marker it carries, which proves nothing; "" for none. */
  marked: string;
  /** The user who started it, if it carries a marker. */
  user?: number;
  /** It is an exec process of the run whose marker it carries. */
  isExec: boolean;
  /** The pipes that it writes to, and could read from, as an app could: others with the same number are not those of a run. */
  pipes?: string[];
  /** When a scan saw it first, on a clock that never jumps. */
  seenAt: number;
}

type Sought = Pick<RunRef, "runId" | "main" | "launcher" | "leaf">;

/** All processes of the machine at one moment, without kernel threads and this process. */
export class ProcessTable {
  readonly #processes: SeenProcess[];
  /** By pid: the children of that process, and the members of the session and the process group that it leads. */
  readonly #related = new Map<number, SeenProcess[]>();

  constructor(processes: SeenProcess[]) {
    this.#processes = processes;
    for (const seen of processes) {
      for (const pid of new Set([seen.parent, seen.session, seen.group])) {
        if (pid <= 1 || pid === seen.pid) continue;
        const related = this.#related.get(pid);
        if (related) related.push(seen);
        else this.#related.set(pid, [seen]);
      }
    }
  }

  /** The run's own processes, and what the processes `inside` its cgroup started; not the exec processes. */
  membersOf(run: Sought, inside: readonly ProcessId[] = []): SeenProcess[] {
    const { runId, main } = run;
    // By start time, too: the table may be older than this list, and a pid in it another process's by now.
    const known = new Map((main ? [...inside, main] : inside).map(({ pid, startTime }) => [pid, startTime]));
    const roots = this.#processes.filter((seen) =>
      belongsTo(seen, run) || known.get(seen.pid) === seen.startTime
    );
    const exec = new Set(this.execsOf(run));
    const own = [...roots, ...this.#adoptedBy(run.launcher), ...this.#writersOf(run)].filter((seen) =>
      !exec.has(seen)
    );
    const found = this.#withRelated(own, main?.pid, exec);
    for (const seen of found) seen.runId = runId;
    return found;
  }

  /** The run's exec processes, and what they started. */
  execsOf(run: Sought): SeenProcess[] {
    return this.#withRelated(this.#processes.filter((seen) => seen.isExec && belongsTo(seen, run)));
  }

  /** The children of the run's launcher: the script, and what lost its parent if the launcher is a subreaper. */
  #adoptedBy(launcher: ProcessId | undefined): SeenProcess[] {
    const isIt = ({ pid, startTime }: SeenProcess) =>
      pid === launcher?.pid && startTime === launcher.startTime;
    if (!launcher || !this.#processes.some(isIt)) return [];
    return this.#related.get(launcher.pid)?.filter(({ parent }) => parent === launcher.pid) ?? [];
  }

  /** The processes without a known run that write to its pipe; one that is older than the script is not of this run. */
  #writersOf({ main, launcher }: Sought): SeenProcess[] {
    const pipe = launcher?.pipe;
    if (!main || !pipe) return [];
    return this.#processes.filter(({ pipes, runId, marked, startTime }) =>
      pipes?.includes(pipe) && runId === "" && marked === "" && Number(startTime) >= Number(main.startTime)
    );
  }

  /** `leader` led the session of a script that may have ended: as long as a member lives, no other process gets this pid. */
  #withRelated(
    roots: SeenProcess[],
    leader = 0,
    except: ReadonlySet<SeenProcess> = new Set(),
  ): SeenProcess[] {
    const found = new Set(roots);
    for (const { pid, session, group } of found) {
      const pids = session === leader || group === leader ? [pid, leader] : [pid];
      for (const related of pids.flatMap((pid) => this.#related.get(pid) ?? [])) {
        if (!except.has(related)) found.add(related);
      }
    }
    return [...found];
  }
}

/** Reports whether what is known about a process itself makes it one of the run's. */
function belongsTo({ runId, marked, user = -1 }: SeenProcess, run: Sought): boolean {
  if (runId !== "") return runId === run.runId;
  // Compared first: the agent asks this of every process for every run.
  return marked === run.runId && (!run.leaf || user === 0 || user === process.getuid?.());
}

let last = new Map<number, SeenProcess>();
let current: Promise<ProcessTable> | undefined;
let next: Promise<ProcessTable> | undefined;

/** Reads all processes, from a moment after the call. Calls during a scan share the next one. */
export function scanProcesses(): Promise<ProcessTable> {
  if (!current) {
    current = scan().finally(() => current = undefined);
    return current;
  }
  next ??= current.then(() => {}, () => {}).then(() => {
    next = undefined;
    return scanProcesses();
  });
  return next;
}

/** Shares one scan among callers that accept a result of that age. */
export function reuseScan<T>(scan: () => Promise<T>, now: () => number): (maxAgeMs: number) => Promise<T> {
  let last: { at: number; result: Promise<T> } | undefined;
  return (maxAgeMs) => {
    if (!last || now() - last.at > maxAgeMs) {
      last = { at: now(), result: scan() };
      last.result.catch(() => last = undefined);
    }
    return last.result;
  };
}

/** A new process may still execute the script, with its marker; after this time it has, or never will. */
const settledMs = 60_000;
/** How many processes are read before other work gets a turn. */
const atOnce = 200;
/** How many environments are read at the same time: as many as Node has threads for files. */
const readers = 4;

async function scan(): Promise<ProcessTable> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: SeenProcess[] = [];
  const now = performance.now();
  for (const [index, pid] of pids.entries()) {
    if (index % atOnce === atOnce - 1) await sleep(0);
    const stat = pid === process.pid ? undefined : readStat(pid);
    if (stat && !stat.isKernelThread) found.push(remember(stat, now));
  }
  const isNew = ({ runId, marked, seenAt }: SeenProcess) =>
    runId === "" && marked === "" && now - seenAt < settledMs;
  const fresh = found.filter(isNew).values();
  // Not all at once: what a scan holds in memory must not depend on how many processes users start.
  await Promise.all(Array.from({ length: readers }, async () => {
    for (const seen of fresh) await inspect(seen);
  }));
  last = new Map(found.map((seen) => [seen.pid, seen]));
  return new ProcessTable(found);
}

/** Keeps what earlier scans found out about the process. */
function remember(stat: ProcessStat, now: number): SeenProcess {
  const known = last.get(stat.pid);
  const isSame = known?.startTime === stat.startTime;
  return isSame ? Object.assign(known, stat) : {
    ...stat,
    ...{ runId: "", marked: "", isExec: false, seenAt: now },
  };
}

async function inspect(seen: SeenProcess): Promise<void> {
  const variables = await readVariables(seen.pid, [execMarker, runMarker]);
  if (variables === undefined) return;
  const valueOf = (name: string) => variables.values[name] ?? "";
  const outputs = [1, 2].map((fd) => linkOf(`/proc/${seen.pid}/fd/${fd}`));
  seen.pipes = outputs.filter((path, at) =>
    path.startsWith("pipe:") && isOpenBothWays(`/proc/${seen.pid}/fd/${at + 1}`)
  );
  // An exec process has its marker from the start, and that of the run once it has loaded the environment.
  const exec = valueOf(execMarker);
  seen.marked = exec || valueOf(runMarker);
  if (seen.marked) seen.user = userOf(seen.pid);
  if (seen.marked || seen.pipes.length > 0) {
    seen.runId = runOfCgroup(cgroupOf(seen.pid), cgroupOf("self"));
  }
  seen.isExec = exec !== "" && (seen.runId === "" || exec === seen.runId);
}

/** The real user: a program that is setuid root runs as root, whoever started it. */
function userOf(pid: number): number | undefined {
  const uid = /^Uid:\s+(\d+)/m.exec(readProcNow(`/proc/${pid}/status`))?.[1];
  return uid === undefined ? undefined : Number(uid);
}

/** The run whose cgroup this is in; "" for none. This agent itself may run in one, which is not the run of its apps. */
export function runOfCgroup(path: string, own: string): string {
  const outer = own.split("/");
  return path.split("/").find((name) => isRunId(name) && !outer.includes(name)) ?? "";
}

function cgroupOf(pid: number | "self"): string {
  try {
    return /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, "utf8"))?.[1] ?? "";
  } catch {
    return "";
  }
}

/** Numbers of pipes repeat within months. The ends that apps get can be read and written, which other pipes never are. */
function isOpenBothWays(descriptor: string): boolean {
  try {
    return (lstatSync(descriptor).mode & 0o600) === 0o600;
  } catch {
    return false;
  }
}

/** What a link in /proc names; "" if there is none. */
export function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
