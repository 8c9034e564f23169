/** Samples the resources that an agent holds, from the kernel and its folders. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { findMount, listTree } from "../../cgroups/mod.ts";
import { instanceName } from "../../src/cli/config/config.ts";
import { readCost } from "../process-cost.ts";

export interface Sample {
  residentMB: number;
  anonymousMB: number;
  /** All descriptors except `openFiles`. */
  descriptors: number;
  /** Descriptors that are connections. */
  sockets: number;
  /** Descriptors of the agent's own files and folders. */
  openFiles: number;
  inotifyWatches: number;
  threads: number;
  /** As the agent reports it. */
  timers: number;
  cpuSeconds: number;
  /** Below the agent's own cgroup; 0 if it has none. */
  cgroups: number;
  /** Launchers, one per run. Leftover processes of apps show as a cgroup. */
  processes: number;
  zombies: number;
  stateFiles: number;
  logFolders: number;
}

/** The agent to sample: its process and its folders. */
export interface Looked {
  pid: number;
  /** Where it serves its metrics. */
  url: string;
  stateDir: string;
  logDir: string;
  /** A part of the command line of every launcher of this agent. */
  marker: string;
}

/** Reads all figures. Costs some ten milliseconds outside the agent, and the agent a scrape of its metrics. */
export async function takeSample({ pid, url, stateDir, logDir, marker }: Looked): Promise<Sample> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const { residentMB, anonymousMB, cpuSeconds } = readCost(pid);
  const descriptors = readdirSync(`/proc/${pid}/fd`);
  const links = descriptors.map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
  const watched = descriptors.filter((_, at) => links[at] === "anon_inode:inotify")
    .map((fd) => readIfExists(`/proc/${pid}/fdinfo/${fd}`).split("inotify wd:").length - 1);
  const own = [stateDir, logDir].map((folder) => `${folder}/`);
  const openFiles = links.filter((link) => own.some((folder) => link.startsWith(folder))).length;
  const status = readIfExists(`/proc/${pid}/status`);
  return {
    residentMB,
    anonymousMB,
    descriptors: descriptors.length - openFiles,
    sockets: links.filter((link) => link.startsWith("socket:")).length,
    openFiles,
    inotifyWatches: watched.reduce((sum, count) => sum + count, 0),
    threads: Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 0),
    timers: Number(/^nckubelet_timers (\d+)$/m.exec(metrics)?.[1]),
    cpuSeconds,
    cgroups: Math.max(0, listTree(cgroupOf(stateDir)).length - 1),
    ...countProcesses(pid, marker),
    stateFiles: countFiles(stateDir),
    logFolders: existsSync(logDir) ? readdirSync(logDir).length : 0,
  };
}

function cgroupOf(stateDir: string): string {
  const found = findMount(readFileSync("/proc/self/mountinfo", "utf8"), { sysRoot: "/sys/fs/cgroup" });
  return found.ok ? join(found.mount.point, "nckubelet", instanceName(stateDir)) : "/nonexistent";
}

function countProcesses(agent: number, marker: string): { processes: number; zombies: number } {
  let [processes, zombies] = [0, 0];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== agent)) {
    if (readIfExists(`/proc/${pid}/cmdline`).includes(marker)) processes++;
    const stat = readIfExists(`/proc/${pid}/stat`);
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === "Z" && Number(parent) === agent) zombies++;
  }
  return { processes, zombies };
}

/** The agent may create and remove folders while they are counted. */
function countFiles(folder: string): number {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .reduce((sum, entry) => sum + (entry.isDirectory() ? countFiles(join(folder, entry.name)) : 1), 0);
  } catch {
    return 0;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** The process may end while it is read. */
function readIfExists(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
