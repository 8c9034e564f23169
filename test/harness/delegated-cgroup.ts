/**
 * Runs a script on this machine itself, where it has a cgroup v2 hierarchy in which tests may make groups.
 *
 * Guarantees: works only inside a new cgroup below the one that `findDelegatedCgroup` found; every process in
 * it is gone when `runInCgroup` returns, and so is the group.
 * Caveats: the script's other effects (files, sockets) are real. When the test process itself is killed, the
 * script dies with it, but what the script started, and the cgroup, stay behind.
 */
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { accessSync, constants, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { constants as os } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const controllers = ["cpu", "memory", "pids"];
let runs = 0;

/** Options of a script. */
export type DirectRun = { cwd: string; env: Record<string, string>; timeoutMs: number };

/** The result of a script; a run that was killed at its time limit has the code 124, as with timeout(1). */
export type ScriptResult = { code: number; output: string; timedOut: boolean };

/**
 * Returns the nearest cgroup at or above this process that delegates cpu, memory and pids and is writable;
 * undefined if there is none (cgroup v1, hybrid, or not delegated).
 */
export function findDelegatedCgroup(mount = "/sys/fs/cgroup"): string | undefined {
  try {
    const own = /^0::(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1];
    if (own === undefined) return undefined;
    readFileSync(join(mount, "cgroup.controllers"));
    for (let path = own;; path = dirname(path)) {
      if (isDelegated(join(mount, path))) return join(mount, path);
      if (path === "/" || path === ".") return undefined;
    }
  } catch {
    return undefined;
  }
}

/** Runs the script with bash in its own cgroup below `parent`; `$CGROUP_ROOT` names that cgroup. */
export async function runInCgroup(script: string, parent: string, run: DirectRun): Promise<ScriptResult> {
  const cgroup = join(parent, `nckubelet-test-${process.pid}-${++runs}`);
  await mkdir(join(cgroup, "script"), { recursive: true });
  try {
    const available = (await readFile(join(cgroup, "cgroup.controllers"), "utf8")).trim().split(" ");
    const wanted = [...controllers, "io"].filter((name) => available.includes(name)).map((name) =>
      `+${name}`
    );
    await writeFile(join(cgroup, "cgroup.subtree_control"), wanted.join(" "));
    return await runScript(script, cgroup, run);
  } finally {
    await removeCgroup(cgroup);
  }
}

function isDelegated(cgroup: string): boolean {
  try {
    const handedOn = readFileSync(join(cgroup, "cgroup.subtree_control"), "utf8").trim().split(" ");
    for (const path of [cgroup, join(cgroup, "cgroup.procs")]) accessSync(path, constants.W_OK);
    return controllers.every((name) => handedOn.includes(name));
  } catch {
    return false;
  }
}

function runScript(script: string, cgroup: string, run: DirectRun): Promise<ScriptResult> {
  const enter = 'echo $$ >"$CGROUP_ROOT/script/cgroup.procs" && exec bash -c "$1" 2>&1';
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "bash", "-c", enter, "bash", script], {
    cwd: run.cwd,
    env: { ...process.env, ...run.env, CGROUP_ROOT: cgroup },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const killAll = () => writeFile(join(cgroup, "cgroup.kill"), "1").catch(() => child.kill("SIGKILL"));
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killAll();
  }, run.timeoutMs);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    // Processes that the script left running hold the output open: kill them once the script has ended.
    child.on("exit", killAll);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      const exitCode = code ?? 128 + (signal ? os.signals[signal] : 0);
      resolve({ code: timedOut ? 124 : exitCode, output: Buffer.concat(chunks).toString(), timedOut });
    });
  });
}

async function removeCgroup(cgroup: string): Promise<void> {
  await writeFile(join(cgroup, "cgroup.kill"), "1");
  while ((await readFile(join(cgroup, "cgroup.events"), "utf8")).includes("populated 1")) await sleep(10);
  await removeTree(cgroup);
}

// rm -r cannot remove a cgroup: its files are not removable, its folders are.
async function removeTree(cgroup: string): Promise<void> {
  for (const entry of await readdir(cgroup, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeTree(join(cgroup, entry.name));
  }
  await rmdir(cgroup);
}
