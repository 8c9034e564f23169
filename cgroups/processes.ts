/**
 * The cgroups and processes at and below a cgroup.
 *
 * Caveat: an app may make cgroups of its own, with any bytes for a name. Node reaches them all; Deno turns
 * bytes that are not UTF-8 into others, so there such a cgroup is not seen.
 */
import { Buffer } from "node:buffer";
import { readdirSync, statSync } from "node:fs";
import { CgroupError, errnoOf } from "./error.ts";
import { readAll } from "./file.ts";

/** The pids of every process in `dir` and below, without doubles. Empty when the cgroup is gone. */
export function listProcesses(dir: string): number[] {
  const pids = new Set<number>();
  for (const cgroup of listTree(dir)) {
    for (const pid of readProcs(cgroup)) pids.add(pid);
  }
  return [...pids];
}

/** `dir` and every cgroup below it, parents before their children. Empty when it is gone. */
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
      if (errnoOf(cause) !== "ENOENT") throw new CgroupError(`cannot list ${parent}`, { path: dir, cause });
      found.splice(at--, 1);
    }
  }
  return found;
}

/** The kernel counts the folders in a cgroup as its links: that spares most a listing of their many control files. */
function isLeaf(cgroup: Buffer): boolean {
  return statSync(cgroup, { throwIfNoEntry: false })?.nlink === 2;
}

/** The pids in one cgroup alone. */
export function readProcs(cgroup: Buffer | string): number[] {
  try {
    const text = readAll(Buffer.concat([Buffer.from(cgroup), PROCS]));
    // Processes of another pid namespace read as 0. To kill 0 would be to kill our own process group.
    return text.split("\n").map(Number).filter((pid) => pid > 0);
  } catch (cause) {
    if (GONE.has(errnoOf(cause))) return [];
    throw new CgroupError(`cannot read ${cgroup}/cgroup.procs`, {
      path: String(cgroup),
      file: "cgroup.procs",
      cause,
    });
  }
}

const SLASH = Buffer.from("/");
const PROCS = Buffer.from("/cgroup.procs");

/** EOPNOTSUPP: a threaded cgroup; its processes are listed by the domain above it. */
const GONE = new Set(["ENOENT", "ENODEV", "EOPNOTSUPP", "ENOTSUP"]);
