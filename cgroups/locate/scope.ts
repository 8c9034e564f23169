/**
 * The delegated systemd scope that contains all apps.
 *
 * Guarantees: it is not part of the agent's service, so a restart or the end of the agent, or a `daemon-reload`, changes neither the
 * scope nor any limit in it. The first agent creates it, later ones adopt it.
 * Caveat: a scope ends with its last process. The keeper, a plain `sleep` without terminal, session or open files of the agent, keeps
 * it alive after the last app.
 */
import { execFile, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { readText } from "../file.ts";
import { fail, type LocateFailure } from "./mounts.ts";

export const SCOPE = "nckubelet-apps.scope";
export const SLICE = "nckubelet.slice";

/** Calls to systemd, which tests can replace. */
export interface SystemdEffects {
  /** Returns the properties of the scope, as `systemctl show` prints them. */
  showScope?: () => Promise<Record<string, string>>;
  /** Starts the scope with its keeper. Resolves when the keeper runs in it, rejects with the message of systemd. */
  startScope?: () => Promise<void>;
  /** Starts a keeper outside of the scope and returns its pid. */
  startKeeper?: () => Promise<number>;
  pause?: (ms: number) => Promise<unknown>;
}

/** Returns the control group of the scope (`/nckubelet.slice/nckubelet-apps.scope`); starts the scope if necessary. */
export async function ensureScope(
  { showScope = systemctlShow, startScope = systemdRun, pause = sleep }: SystemdEffects = {},
): Promise<{ ok: true; controlGroup: string } | LocateFailure> {
  let problem = "";
  try {
    for (let attempt = 0; attempt < 3; attempt++) {
      const unit = await showSettled(showScope, pause);
      const controlGroup = unit["ControlGroup"] ?? "";
      if (unit["ActiveState"] === "active" && controlGroup !== "") {
        if (unit["Delegate"] === "yes") return { ok: true, controlGroup };
        return fail("not-delegated", `${SCOPE} runs without Delegate=yes: systemctl stop ${SCOPE}`);
      }
      problem = `it is ${unit["ActiveState"]}`;
      // Refused if another agent was first: then the next attempt finds its scope.
      await startScope().catch((error: Error) => problem = error.message);
    }
  } catch (error) {
    problem = (error as Error).message;
  }
  return fail("systemd-failed", `cannot start ${SCOPE}: ${problem}`);
}

/**
 * Tells systemd the memory limits that its scope has. It owns these files: what it does not know is lost at the next `daemon-reload`.
 * `max` is systemd's `infinity`.
 */
export async function recordScopeLimits(dir: string): Promise<void> {
  const value = (file: string) => readText(dir, file).replace("max", "infinity");
  const limits = [`MemoryMax=${value("memory.max")}`, `MemoryHigh=${value("memory.high")}`];
  await systemctl("set-property", "--runtime", SCOPE, ...limits);
}

/** Starts a keeper that is independent of this process; the caller moves it into the scope. */
export function startKeeper(): Promise<number> {
  const keeper = spawn("sleep", ["infinity"], { ...APART, stdio: "ignore" });
  return new Promise((resolve, reject) => {
    keeper.once("spawn", () => {
      keeper.unref();
      resolve(keeper.pid!);
    });
    keeper.once("error", reject);
  });
}

/** Its own session and process group, and nothing of the agent's environment. */
const APART = {
  detached: true,
  cwd: "/",
  env: { PATH: "/run/current-system/sw/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
};

/** Polls until the scope is neither starting nor stopping, for ten seconds at most. */
async function showSettled(
  showScope: () => Promise<Record<string, string>>,
  pause: (ms: number) => Promise<unknown>,
): Promise<Record<string, string>> {
  for (let polls = 1;; polls++) {
    const unit = await showScope();
    if (!/^(de)?activating$/.test(unit["ActiveState"] ?? "") || polls === 50) return unit;
    await pause(200);
  }
}

async function systemctlShow(): Promise<Record<string, string>> {
  const shown = await systemctl("show", SCOPE, "-p", "ActiveState", "-p", "Delegate", "-p", "ControlGroup");
  return Object.fromEntries(
    shown.trim().split("\n").map((line) => {
      const equals = line.indexOf("=");
      return [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );
}

/** Resolves to what systemctl prints; rejects with its message. */
function systemctl(...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile("systemctl", args, { env: APART.env, timeout: 10_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr.trim() || error.message, { cause: error }));
      else resolve(stdout);
    });
  });
}

/** systemd-run enters the new scope and execs the keeper, which writes "ready" to stderr and then closes stderr. */
function systemdRun(): Promise<void> {
  const properties = ["-p", "Delegate=yes", "-p", "TasksMax=infinity"];
  const keeper = ["sh", "-c", "echo ready >&2; exec sleep infinity 2> /dev/null"];
  const args = ["--scope", `--unit=${SCOPE}`, `--slice=${SLICE}`, "--description=NC-Kubelet applications"];
  const child = spawn(
    "systemd-run",
    [...args, ...properties, "--collect", "--quiet", "--no-ask-password", ...keeper],
    { ...APART, stdio: ["ignore", "ignore", "pipe"] },
  );
  return new Promise((resolve, reject) => {
    let stderr = "";
    const timer = setTimeout(() => child.kill("SIGKILL"), 30_000);
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
      if (!stderr.endsWith("ready\n")) return;
      // Until now the child had to keep this process alive, as its failure is the result. From now on it must not.
      clearTimeout(timer);
      child.unref();
      resolve();
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      reject(new Error(stderr.trim() || `systemd-run ended with ${code ?? signal}`));
    });
  });
}
