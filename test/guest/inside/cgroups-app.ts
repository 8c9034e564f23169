/** Apps for the cgroup tests: shell scripts that join their cgroup before their first instruction. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import type { TestContext } from "node:test";
import {
  ensureLimits,
  joinCommand,
  kill,
  limitsFor,
  type LimitSpec,
  locateRoot,
  openApp,
  openRun,
  removeTree,
  waitUntilEmpty,
} from "../../../cgroups/mod.ts";

export const MIB = 1024 ** 2;
/** Percentages are of this in the tests, whatever the machine has: one busy loop can use up one CPU. */
export const NODE = { cpus: 1, memoryBytes: 1000 * MIB };

/** The root that the harness gave to this test. */
export async function testRoot(): Promise<string> {
  const found = await locateRoot({ override: process.env["CGROUP_ROOT"] ?? "/sys/fs/cgroup" });
  if (!found.ok) throw new Error(found.message);
  return found.root;
}

/** An app cgroup with its limits in place; it is ended and removed after the test. */
export async function makeApp(t: TestContext, name: string, spec: LimitSpec = {}) {
  const dir = openApp(await testRoot(), name);
  t.after(() => endApp(dir));
  await ensureLimits(dir, limitsFor(spec, NODE));
  return dir;
}

/** Kills whatever is left of an app and removes its cgroup. */
export async function endApp(dir: string): Promise<void> {
  await kill(dir);
  if (!await waitUntilEmpty(dir, { timeoutMs: 60_000 })) throw new Error(`${dir} outlived its kill`);
  await removeTree(dir, { timeoutMs: 60_000 });
}

/** Starts a shell script as a run of the app, as a launcher does. */
export function startRun(
  appDir: string,
  script: string,
  runId = "run",
): { leaf: string; child: ChildProcess } {
  const leaf = openRun(appDir, runId);
  const child = spawn("sh", ["-c", `${joinCommand(leaf)} || exit 125; exec sh -c "$1"`, "sh", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return { leaf, child };
}

/** The first line that a script prints. */
export async function firstLine(child: ChildProcess): Promise<string> {
  let text = "";
  for await (const chunk of child.stdout!) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  return text.split("\n")[0]!;
}

/** Exit code and signal of a script. */
export async function exitOf(child: ChildProcess): Promise<[number | null, string | null]> {
  if (child.exitCode !== null || child.signalCode !== null) return [child.exitCode, child.signalCode];
  return await once(child, "exit") as [number | null, string | null];
}
