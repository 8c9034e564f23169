/**
 * The shutdown of the machine, as its service manager announces it.
 *
 * An agent that gets SIGTERM leaves its apps running, unless the machine goes down: then each app gets its stop file and its grace
 * period first. The agent's service stops before the apps' scope and the network, so there is time for that.
 * Caveats: only systemd and OpenRC are asked. An agent that cannot ask takes the machine to stay up; the launchers then write down
 * that SIGTERM reached them, and the next boot's agent starts those apps again.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { describeError, type Logger } from "../lib/log.ts";
import { readIfExists } from "../lib/files.ts";
import { cleanPath } from "../lib/shell.ts";

export interface ShutdownParts {
  exists?: (path: string) => boolean;
  read?: (path: string) => Promise<string | undefined>;
  /** Runs a program and returns what it printed, whatever its exit status is. */
  run?: typeof runProgram;
}

const timeoutMs = 10_000;
// NixOS has its programs elsewhere.
const path = `${cleanPath}:/run/current-system/sw/bin`;

/** Reports whether the machine is going down. */
export async function isShuttingDown(
  log: Logger,
  { exists = existsSync, read = readIfExists, run = runProgram }: ShutdownParts = {},
): Promise<boolean> {
  try {
    if (exists("/run/systemd/system")) {
      return (await run("systemctl", ["is-system-running"])).trim() === "stopping";
    }
    if (!exists("/run/openrc")) return false;
    const level = await read("/run/openrc/softlevel");
    if (level !== undefined && /^(shutdown|reboot)$/.test(level.trim())) return true;
    // With sysvinit, as on Debian, OpenRC stops the services before it enters that level; init knows: "2 0".
    return /^\S+ [06]$/.test((await run("runlevel", []).catch(() => "")).trim());
  } catch (error) {
    log.warn("cannot ask whether the node is shutting down; apps keep running", {
      why: describeError(error),
    });
    return false;
  }
}

/** Asks systemd not to kill the agent before the apps had this time to end. */
export async function allowStopTime(
  stopMs: number,
  { env, log }: { env: Record<string, string | undefined>; log: Logger },
  { run = runProgram }: ShutdownParts = {},
): Promise<void> {
  if (!env.NOTIFY_SOCKET) return;
  try {
    // Longer than the agent itself waits.
    await run("systemd-notify", [`EXTEND_TIMEOUT_USEC=${(stopMs + timeoutMs) * 1000}`], {
      NOTIFY_SOCKET: env.NOTIFY_SOCKET,
    });
  } catch (error) {
    log.warn("cannot ask systemd for time to stop the apps", { why: describeError(error) });
  }
}

function runProgram(file: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(file, args, { env: { PATH: path, ...env }, timeout: timeoutMs }, (error, stdout) => {
      // A program that ran has an exit status; systemctl prints "stopping" with 1.
      if (error && typeof error.code !== "number") return reject(error);
      resolve(stdout);
    });
  });
}
