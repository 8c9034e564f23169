/**
 * The cgroups and processes in and below a cgroup.
 *
 * Caveat: an app may create its own cgroups, with any bytes in their names. Node finds them all; Deno replaces bytes that are not
 * UTF-8, so it does not find such a cgroup.
 */
import { Buffer } from "node:buffer";
import { existsSync, readdirSync, statSync } from "node:fs";
import { CgroupError, errnoOf } from "./error.ts";
import { readAll, readTextIfAny, writeText } from "./file.ts";

/** Returns the pids of all processes in `dir` and below, without duplicates. Empty when the cgroup is gone. */
export function listProcesses(dir: string): number[] {
  const pids = new Set<number>();
  for (const cgroup of listTree(dir)) {
    for (const pid of readProcs(cgroup)) pids.add(pid);
  }
  return [...pids];
}

/** Returns `dir` and every cgroup below it, parents before their children. Empty when it is gone. */
export function listTree(dir: string): Buffer[] {
  const found = [Buffer.from(dir)];
  for (let at = 0; at < found.length; at++) {
    const parent = found[at]!;
    if (isLeaf(parent)) continue;
    try {
      for (const entry of readdirSync(parent, { encoding: "buffer", withFileTypes: true })) {
        if (entry.isDirectory()) found.push(Buffer.concat([parent, SLASH, entry.name]));
      }
    } catch (cause) {
      if (errnoOf(cause) !== "ENOENT") throw new CgroupError(`cannot list ${parent}`, { cause });
      found.splice(at--, 1);
    }
  }
  return found;
}

/** The link count of a cgroup gives its number of folders: most need no listing of their many control files. */
function isLeaf(cgroup: Buffer): boolean {
  return statSync(cgroup, { throwIfNoEntry: false })?.nlink === 2;
}

/** Returns the pids in one cgroup, without those below it. */
export function readProcs(cgroup: Buffer | string): number[] {
  try {
    const text = readAll(Buffer.concat([Buffer.from(cgroup), PROCS]));
    // Processes of another pid namespace read as 0. A signal to 0 would go to our own process group.
    return text.split("\n").map(Number).filter((pid) => pid > 0);
  } catch (cause) {
    if (GONE.has(errnoOf(cause))) return [];
    throw new CgroupError(`cannot read ${cgroup}/cgroup.procs`, { cause });
  }
}

/** Moves one process, unless it has just ended. */
export function moveProcess(pid: number, leaf: string): void {
  try {
    writeText(leaf, "cgroup.procs", String(pid));
  } catch (error) {
    if (errnoOf(error) !== "ESRCH") throw error;
  }
}

/**
 * Returns the cgroup that a process can enter to be in `dir`: `dir` itself, or if that limits cgroups of its own below it (then
 * the kernel keeps it free of processes), the first one below that does not and that has processes.
 */
export function findEntry(dir: string): string {
  if (!hasLimitedChildren(dir)) return dir;
  const below = listTree(dir).map(String).filter((cgroup) => !hasLimitedChildren(cgroup));
  return below.find((cgroup) => readProcs(cgroup).length > 0) ?? below[0] ?? dir;
}

function hasLimitedChildren(cgroup: string): boolean {
  return (readTextIfAny(cgroup, "cgroup.subtree_control") ?? "") !== "";
}

const SLASH = Buffer.from("/");
const PROCS = Buffer.from("/cgroup.procs");

/** EOPNOTSUPP: a threaded cgroup, whose processes the domain above it lists. */
const GONE = new Set(["ENOENT", "ENODEV", "EOPNOTSUPP", "ENOTSUP"]);

/** Returns the names of the cgroups directly below `dir`. Empty when it is gone. */
export function listChildren(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) =>
    name
  );
}
