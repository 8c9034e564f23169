/**
 * The delegated systemd scope that all apps live in.
 *
 * Guarantees: it is no part of the agent's service, so a restart of the agent, its end, or a `daemon-reload`
 * leaves it and every limit in it as they are. Whichever agent comes first makes it, the others adopt it.
 * Caveat: a scope ends with its last process. The keeper, a bare `sleep` without terminal, session or open files
 * of the agent, is there so that it does not end with the last app.
 */
import { execFile, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fail, type LocateFailure } from "./mounts.ts";

export const SCOPE = "nckubelet-apps.scope";
export const SLICE = "nckubelet.slice";

/** How this file reaches systemd; replaceable for tests. */
export interface SystemdEffects {
  /** Properties of the scope, as `systemctl show` prints them. */
  showScope?: () => Promise<Record<string, string>>;
  /** Starts the scope with its keeper. Resolves when the keeper runs in it, rejects with systemd's words. */
  startScope?: () => Promise<void>;
  /** Starts a keeper outside of the scope and resolves to its pid. */
  startKeeper?: () => Promise<number>;
  pause?: (ms: number) => Promise<unknown>;
}

/** The control group of the running scope (`/nckubelet.slice/nckubelet-apps.scope`), started if need be. */
export async function ensureScope(
  { showScope = systemctlShow, startScope = systemdRun, pause = sleep }: SystemdEffects = {},
): Promise<{ ok: true; controlGroup: string } | LocateFailure> {
  let trouble = "";
  try {
    for (let attempt = 0; attempt < 3; attempt++) {
      const unit = await showSettled(showScope, pause);
      const controlGroup = unit["ControlGroup"] ?? "";
      if (unit["ActiveState"] === "active" && controlGroup !== "") {
        if (unit["Delegate"] === "yes") return { ok: true, controlGroup };
        return fail("not-delegated", `${SCOPE} runs without Delegate=yes: systemctl stop ${SCOPE}`);
      }
      trouble = `it is ${unit["ActiveState"]}`;
      // Refused when another agent was first: then the next look finds its scope.
      await startScope().catch((error: Error) => trouble = error.message);
    }
  } catch (error) {
    trouble = (error as Error).message;
  }
  return fail("systemd-failed", `cannot start ${SCOPE}: ${trouble}`);
}

/** Starts a keeper that nothing ties to this process; the caller moves it into the scope. */
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

/** A session and process group of its own, and nothing of the agent's environment. */
const APART = {
  detached: true,
  cwd: "/",
  env: { PATH: "/run/current-system/sw/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
};

/** Looks until the scope is neither starting nor stopping, ten seconds at most. */
async function showSettled(
  showScope: () => Promise<Record<string, string>>,
  pause: (ms: number) => Promise<unknown>,
): Promise<Record<string, string>> {
  for (let looks = 1;; looks++) {
    const unit = await showScope();
    if (!/^(de)?activating$/.test(unit["ActiveState"] ?? "") || looks === 50) return unit;
    await pause(200);
  }
}

function systemctlShow(): Promise<Record<string, string>> {
  const args = ["show", SCOPE, "-p", "ActiveState", "-p", "Delegate", "-p", "ControlGroup"];
  return new Promise((resolve, reject) => {
    execFile("systemctl", args, { env: APART.env, timeout: 10_000 }, (error, stdout, stderr) => {
      if (error) return reject(new Error(stderr.trim() || error.message, { cause: error }));
      resolve(Object.fromEntries(
        stdout.trim().split("\n").map((line) => {
          const equals = line.indexOf("=");
          return [line.slice(0, equals), line.slice(equals + 1)];
        }),
      ));
    });
  });
}

/**
 * systemd-run puts itself into a new scope and execs the keeper. Its error output is the only line between us:
 * the keeper says there that the scope stands, and lets go of it.
 */
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
    let words = "";
    const timer = setTimeout(() => child.kill("SIGKILL"), 30_000);
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      words += text;
      if (!words.endsWith("ready\n")) return;
      // From now on it is not ours to wait for. Before, it must keep us alive: its failure is the answer.
      clearTimeout(timer);
      child.unref();
      resolve();
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      reject(new Error(words.trim() || `systemd-run ended with ${code ?? signal}`));
    });
  });
}
