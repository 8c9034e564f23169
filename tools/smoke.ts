/**
 * Tests the built executable: it runs an example app, reports it over HTTP and with `ps`, and leaves nothing behind.
 *
 * Usage: node tools/smoke.ts [EXECUTABLE]; default dist/nckubelet
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join, resolve } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { checkout } from "./checkout.ts";
import { must } from "./command.ts";
import { type StandaloneAgent, startStandaloneAgent } from "./standalone-agent.ts";

const timeoutMs = 60_000;
const executable = resolve(process.argv[2] ?? join(checkout, "dist/nckubelet"));

interface App {
  metadata: { name: string };
  status?: { phase?: string; pid?: number };
}

console.log((await must(executable, ["version"])).trimEnd());
const agent = await startStandaloneAgent([executable], async (manifests) => {
  await cp(join(checkout, "examples/hello.yaml"), join(manifests, "hello.yaml"));
  await cp(join(checkout, "examples/scripts"), join(manifests, "scripts"), { recursive: true });
});
try {
  const app = await untilRunning(agent);
  console.log(
    `${agent.url}/apps reports ${app.metadata.name} ${app.status?.phase}, process ${app.status?.pid}`,
  );
  const table = await must(executable, ["ps", "--socket", agent.socket]);
  assert.match(table, /\bhello\b.*\bRunning\b/);
  console.log(table.trimEnd());
  const running = processesIn(agent.folder).filter((pid) => pid !== agent.pid);
  assert.notDeepEqual(running, [], "the app runs, so there are processes to find");
  assert.equal(await agent.stop(), 0, "the agent ends with code 0");
  // A zombie has no command line.
  const left = [...running, ...processesIn(agent.folder)].filter((pid) => readProcess(pid, "cmdline") !== "");
  assert.deepEqual(left, [], "nothing runs on");
  console.log("stopped; nothing is left");
} finally {
  await agent[Symbol.asyncDispose]();
}

async function untilRunning({ url }: StandaloneAgent): Promise<App> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const { items } = await (await fetch(`${url}/apps`)).json() as { items: App[] };
    const app = items.find(({ metadata, status }) =>
      metadata.name === "hello" && status?.phase === "Running"
    );
    if (app) return app;
    if (Date.now() > deadline) throw new Error(`no app became Running: ${JSON.stringify(items)}`);
    await pause(100);
  }
}

/** Returns the processes that have a path in the folder on their command line, and their children. */
function processesIn(folder: string): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);
  const named = pids.filter((pid) => readProcess(pid, "cmdline").includes(folder));
  const children = named.flatMap((pid) => readProcess(pid, `task/${pid}/children`).split(" "));
  return [...named, ...children.filter((pid) => pid !== "").map(Number)];
}

/** Reads a file of a process; empty if it has ended. */
function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}
