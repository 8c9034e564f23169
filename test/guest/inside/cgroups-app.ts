/** Apps for the cgroup tests: shell scripts that join their cgroup before their first instruction, as a launcher does. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import type { TestContext } from "node:test";
import {
  ensureLimits,
  kill,
  limitsFor,
  type LimitSpec,
  locateRoot,
  openCgroup,
  removeTree,
  waitUntilEmpty,
} from "../../../cgroups/mod.ts";

export const MIB = 1024 ** 2;
/** The node that percentages refer to, whatever the machine has: one busy loop can use one CPU. */
export const NODE = { cpus: 1, memoryBytes: 1000 * MIB };

/** Returns the root that the harness provides for this test. */
export async function testRoot(): Promise<string> {
  const found = await locateRoot({ override: process.env["CGROUP_ROOT"] ?? "/sys/fs/cgroup" });
  if (!found.ok) throw new Error(found.message);
  return found.root;
}

/** Creates the cgroup of an app with its limits; it is killed and removed after the test. */
export async function makeApp(t: TestContext, name: string, spec: LimitSpec = {}) {
  const dir = openCgroup(await testRoot(), name);
  t.after(() => endApp(dir));
  await ensureLimits(dir, limitsFor(spec, NODE));
  return dir;
}

/** Kills all processes of an app and removes its cgroup. */
export async function endApp(dir: string): Promise<void> {
  await kill(dir);
  if (!await waitUntilEmpty(dir, { timeoutMs: 60_000 })) {
    throw new Error(`${dir} still has processes after a kill`);
  }
  await removeTree(dir, { timeoutMs: 60_000 });
}

/**
 * Returns the shell command that moves its shell into a cgroup: the kernel reads `0` as the writer itself. `echo` must be the builtin
 * of the shell, since another program would move only itself.
 */
export function joinCommand(dir: string): string {
  return `echo 0 > '${dir}/cgroup.procs'`;
}

/** Starts a shell script as a run of the app. */
export function startRun(
  appDir: string,
  script: string,
  runId = "run",
): { leaf: string; child: ChildProcess } {
  const leaf = openCgroup(appDir, runId);
  const child = spawn("sh", ["-c", `${joinCommand(leaf)} || exit 125; exec sh -c "$1"`, "sh", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return { leaf, child };
}

/** Returns the first line that a script prints. */
export async function firstLine(child: ChildProcess): Promise<string> {
  let text = "";
  for await (const chunk of child.stdout!) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  return text.split("\n")[0]!;
}

/** Returns the exit code and signal of a script. */
export async function exitOf(child: ChildProcess): Promise<[number | null, string | null]> {
  if (child.exitCode !== null || child.signalCode !== null) return [child.exitCode, child.signalCode];
  return await once(child, "exit") as [number | null, string | null];
}
