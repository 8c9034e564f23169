/**
 * A real agent in a process of its own, for tests: source on the runtime that runs the test, or the built executable where
 * NCKUBELET_BIN names one.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { scanProcesses } from "../src/supervisor/process-table.ts";
import { builtLauncher } from "./harness/launcher.ts";
import { processesNaming } from "./harness/processes.ts";
import { tempFolder } from "./temp-folder.ts";
import { waitFor } from "./wait-for.ts";

const bootIdFile = "/proc/sys/kernel/random/boot_id";
const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

export interface AgentProcess extends AsyncDisposable {
  folder: string;
  socket: string;
  /** The address of its HTTP endpoint. */
  url: string;
  /** Its log so far. */
  log(): string;
  pid(): number;
  start(): Promise<void>;
  /** Ends it by a signal and waits for its end; the apps stay. */
  kill(signal?: NodeJS.Signals): Promise<number | null>;
  /** Ends agent and apps as a power cut does; whatever starts later is in another boot of the machine. Needs root. */
  reboot(): Promise<void>;
  /** Runs another command of the program against this agent. */
  command(...words: string[]): Promise<{ code: number | null; stdout: string; stderr: string }>;
}

/** Starts an agent with these flags on temporary folders; at the end of the block it stops with all its apps. */
export async function startAgentProcess(
  flags: string[],
  { openLoopback = true, stateDir }: { openLoopback?: boolean; stateDir?: string } = {},
): Promise<AgentProcess> {
  const temp = tempFolder();
  const folder = temp.path;
  const state = stateDir ?? join(folder, "state");
  const socket = join(folder, "agent.sock");
  const own = ["--state-dir", state, "--log-dir", join(folder, "log"), "--socket", socket];
  // Several agents of a test share the machine's ports.
  const quiet = ["--kubelet-listen", ""];
  // Most tests ask it over HTTP.
  const open = openLoopback ? ["--open-loopback"] : [];
  let child: ChildProcess | undefined;
  let text = "";
  /** Stands before every call. */
  let wrapper: string[] = [];

  const run = (words: string[], stdio: "ignore" | "pipe" = "pipe") => {
    const binary = process.env.NCKUBELET_BIN;
    const program = binary ? [binary] : [process.execPath, main];
    const [file = "", ...args] = [...wrapper, ...program, ...words];
    return spawn(file, args, { stdio: ["ignore", stdio, "pipe"], env: { PATH: process.env.PATH } });
  };

  const agent: AgentProcess = {
    folder,
    socket,
    url: "",
    log: () => text,
    pid: () => child?.pid ?? 0,
    async start() {
      const from = text.length;
      child = run(["agent", ...own, "--listen", "127.0.0.1:0", ...quiet, ...open, ...flags], "ignore");
      child.stderr?.setEncoding("utf8").on("data", (chunk) => text += chunk);
      agent.url = await waitFor("the agent serves", () => {
        if (child?.exitCode !== null) throw new Error(`the agent ended:\n${text.slice(from)}`);
        return /serving address=(http:\S+)/.exec(text.slice(from))?.[1];
      });
    },
    async kill(signal = "SIGKILL") {
      if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
      const ended = once(child, "exit");
      child.kill(signal);
      return (await ended)[0] as number | null;
    },
    async reboot() {
      await agent.kill("SIGKILL");
      await killApps(folder, state);
      const bootId = join(folder, "boot-id");
      await writeFile(bootId, `${randomUUID()}\n`);
      wrapper = ["unshare", "--mount", "sh", "-c", `mount --bind "$0" ${bootIdFile} && exec "$@"`, bootId];
    },
    async command(...words) {
      const called = run(words);
      let [stdout, stderr] = ["", ""];
      called.stdout?.setEncoding("utf8").on("data", (chunk) => stdout += chunk);
      called.stderr?.setEncoding("utf8").on("data", (chunk) => stderr += chunk);
      const [code] = await once(called, "close") as [number | null];
      return { code, stdout, stderr };
    },
    async [Symbol.asyncDispose]() {
      await agent.kill("SIGKILL");
      child = run(["agent", ...own, "--listen", "", "--standalone", "--stop-apps-on-exit"], "ignore");
      let said = "";
      child.stderr?.setEncoding("utf8").on("data", (chunk) => said += chunk);
      await waitFor(
        "the last agent serves",
        () => said.includes("serving address=") || child?.exitCode !== null,
      );
      await agent.kill("SIGTERM");
      temp.remove();
    },
  };
  if (!process.env.NCKUBELET_BIN) await builtLauncher();
  await agent.start();
  return agent;
}

/** All processes of the agent's apps at once: the launchers first, so that they write down no exit. */
async function killApps(folder: string, state: string): Promise<void> {
  const runs = await readdir(join(state, "runs"));
  const table = await scanProcesses();
  const launchers = await processesNaming(folder);
  const apps = runs.flatMap((runId) => [...table.membersOf({ runId }), ...table.execsOf({ runId })])
    .map(({ pid }) => pid);
  for (const pid of [...launchers, ...apps]) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Gone already, with the one before it.
    }
  }
}
