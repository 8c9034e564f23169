/**
 * The launcher that needs no helper: `sh` and the programs setsid, setpriv and cat. It works wherever there is no native one.
 * launcher-script.ts is what runs.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode, readIfExistsSync, writeFileAtomic } from "../../lib/files.ts";
import { cleanPath } from "../../lib/shell.ts";
import type { Identity } from "../identity/identity.ts";
import { StartError } from "../types.ts";
import { entryScript, joinScript, launcherScript } from "./launcher-script.ts";
import type { EnterOptions, Entrance, Entry, Launcher, LaunchRequest } from "./types.ts";

/** `why` says why there is no native launcher; tests pass a `text` that is killed on its way. */
export function createShLauncher(
  { stateDir, why, text = launcherScript }: { stateDir: string; why: string; text?: string },
): Launcher {
  return {
    state: { kind: "sh", message: why },
    async start({ mark, keeper, log, entry, command }: LaunchRequest) {
      const script = await installScript(stateDir, text);
      const words = entryCommand(entry, command);
      await spawnScript(script, [mark, keeper, entry.leaf, log, entry.environment, ...words]);
    },
    // Its apps write to their logs themselves.
    copyCommand: () => undefined,
    ...shEntrance,
    close() {},
  };
}

/** Enters runs by sh, also those that the native launcher started. */
export const shEntrance: Entrance = { enterCommand };

function enterCommand(
  entry: Entry,
  command: string[],
  { log = "", onTerminal = false }: EnterOptions = {},
): string[] {
  const { leaf, environment } = entry;
  const privileges = onTerminal ? entry.privileges.filter((word) => word !== "setsid") : entry.privileges;
  const words = entryCommand({ ...entry, privileges }, command);
  return ["/bin/sh", "-c", joinScript, "nckubelet-exec", leaf, environment, log, ...words];
}

/** A session of its own, so that `kill 0` in the script cannot reach the launcher; then the user, irrevocably. */
export function privilegeCommand({ uid, gid, groups }: Identity, isRoot: boolean): string[] {
  const user = isRoot
    ? ["--reuid", `${uid}`, "--regid", `${gid}`, "--groups", groups.join(","), ...dropOwn()]
    : [];
  return ["setsid", "setpriv", ...user, "--no-new-privs"];
}

/** The agent's own capabilities never change: it neither drops nor gets any. */
function dropOwn(): string[] {
  return dropped ??= dropInheritable(readFileSync("/proc/self/status", "utf8"));
}
let dropped: string[] | undefined;

/** The setpriv option that drops these inheritable capabilities. Each is named: a setpriv older than the kernel refuses `-all`. */
export function dropInheritable(status: string): string[] {
  const set = BigInt(`0x${/^CapInh:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  const names = Array.from({ length: 64 }, (_, bit) => bit).filter((bit) => (set >> BigInt(bit)) & 1n)
    .map((bit) => `-cap_${bit}`);
  return names.length > 0 ? [`--inh-caps=${names.join(",")}`] : [];
}

/** The command that becomes the app's user, loads its environment, enters its folder and executes `command`. */
function entryCommand({ privileges, workingDir }: Entry, command: string[]): string[] {
  return [...privileges, "/bin/sh", "-c", entryScript, "nckubelet-entry", workingDir, ...command];
}

/** Installs the script under a name with its digest: shells read scripts as they go, so one in use must never change. */
async function installScript(stateDir: string, text: string): Promise<string> {
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 12);
  const path = join(stateDir, `launcher-${digest}.sh`);
  if (readIfExistsSync(path) !== text) await writeFileAtomic(path, text);
  return path;
}

async function spawnScript(path: string, args: string[]): Promise<void> {
  const launcher = spawn("/bin/sh", [path, ...args], {
    cwd: "/",
    env: { PATH: cleanPath },
    stdio: "ignore",
    detached: true,
  });
  launcher.unref();
  await once(launcher, "spawn").catch((cause) => {
    throw new StartError("LaunchFailed", `cannot start /bin/sh: ${errorCode(cause)}`, { cause });
  });
}
