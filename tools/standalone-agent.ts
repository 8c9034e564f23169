/**
 * Starts a standalone agent as users do, in a separate process on a temporary folder, for the smoke test and the benchmarks.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A running agent. */
export interface StandaloneAgent extends AsyncDisposable {
  pid: number;
  /** The folder of all its files. */
  folder: string;
  socket: string;
  /** The address of its HTTP endpoint. */
  url: string;
  /** Stops it with its apps and returns its exit code. */
  stop(): Promise<number | null>;
}

const startTimeoutMs = 60_000;
const stopTimeoutMs = 120_000;

/** Starts the program (`command` precedes `agent`) and waits until it serves; `prepare` fills its manifest folder. */
export async function startStandaloneAgent(
  command: string[],
  prepare: (manifests: string) => Promise<void> = async () => {},
): Promise<StandaloneAgent> {
  const folder = await mkdtemp(join(tmpdir(), "nckubelet-standalone-"));
  const at = (name: string) => join(folder, name);
  await mkdir(at("manifests"));
  await prepare(at("manifests"));
  const [file = "", ...words] = command;
  const flags = [
    "--standalone",
    "--manifests",
    at("manifests"),
    "--state-dir",
    at("state"),
    "--log-dir",
    at("log"),
  ];
  const more = [
    "--socket",
    at("agent.sock"),
    "--listen",
    "127.0.0.1:0",
    "--open-loopback",
    "--enforce",
    "best-effort",
    "--stop-apps-on-exit",
  ];
  const child = spawn(file, [...words, "agent", ...flags, ...more], {
    stdio: ["ignore", "ignore", "pipe"],
    // No Node on the PATH: the executable must not need it.
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: folder },
  });
  try {
    const url = await readAddress(child);
    return {
      pid: child.pid ?? 0,
      folder,
      socket: at("agent.sock"),
      url,
      stop: () => end(child, "SIGTERM"),
      async [Symbol.asyncDispose]() {
        await end(child, "SIGTERM");
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await end(child, "SIGKILL");
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

function readAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let log = "";
    const fail = (what: string) => reject(new Error(`the agent ${what}; its log:\n${log}`));
    const timer = setTimeout(() => fail(`did not serve within ${startTimeoutMs / 1000} s`), startTimeoutMs);
    timer.unref();
    child.on("error", reject);
    child.on("exit", (code, signal) => fail(`ended with ${signal ?? `code ${code}`}`));
    child.stderr?.setEncoding("utf8").on("data", (chunk) => {
      log += chunk;
      const address = /serving address=(http:\S+)/.exec(log)?.[1];
      if (address) resolve(address);
    });
  });
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
    const ended = once(child, "exit");
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
    await ended;
    clearTimeout(timer);
  }
  return child.exitCode;
}
