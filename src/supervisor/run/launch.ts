/**
 * Starts a run: resolves what the spec names, prepares the cgroup with its caps, and spawns the launcher.
 *
 * User-fixable problems are StartErrors. Nothing of the app runs before the caps are in force. The spawn is the last step: no
 * exception can follow a launcher that is already running.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { constants, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { ensureFolder, errorCode, readIfExistsSync, writeFileAtomic } from "../../lib/files.ts";
import { type Caps, capsOf, type Confinement, describeCaps, hasCaps } from "../confinement/confinement.ts";
import { buildEnvironment, type ResolveValue } from "./environment.ts";
import { cleanPath } from "../../lib/shell.ts";
import { type Identity, resolveIdentity } from "../identity/identity.ts";
import { entryCommand } from "./enter.ts";
import { launcherScript } from "./launcher-script.ts";
import {
  environmentPath,
  folderOf,
  type Layout,
  logFolder,
  logPath,
  markPath,
  marksFolder,
  runFolder,
  type RunLayout,
  scriptCopyPath,
} from "../layout.ts";
import { prepareMarks } from "./launcher-marks.ts";
import { type RunContext, saveRunContext } from "./run-context.ts";
import { saveEnvironment } from "./run-environment.ts";
import { prepareScript, type Script } from "../script/script.ts";
import { StartError } from "../types.ts";
import type { Run, RunnableApp } from "../types.ts";

export type Enforce = "strict" | "best-effort";

export interface LaunchDeps {
  layout: RunLayout;
  confinement: Confinement;
  nodeName: string;
  enforce: Enforce;
  /** Whether the agent may change users. */
  isRoot: boolean;
  resolveValue: ResolveValue;
  /** Downloads a URL to a local file and checks its digest. */
  fetchScript: (url: string, sha256: string | undefined, signal: AbortSignal) => Promise<string>;
}

/** Starts a run; resolves when its launcher is spawned. */
export async function launchRun(
  app: RunnableApp,
  run: Run,
  deps: LaunchDeps,
  signal: AbortSignal,
): Promise<void> {
  const { layout } = deps;
  const { spec } = app;
  const folder = folderOf(app);
  const identity = await resolveIdentity(spec.runAsUser, spec.runAsGroup);
  const workingDir = spec.workingDir || "/";
  await checkFolder(workingDir);
  const environment = await buildEnvironment(app, {
    identity,
    nodeName: deps.nodeName,
    runId: run.id,
    resolve: deps.resolveValue,
  });
  // After everything slow, so that there is little time to replace a local file that was checked.
  const script = await findScript(app, run, identity.gid, deps, signal);
  const caps = capsOf(app);
  signal.throwIfAborted();

  const contextFolder = runFolder(layout, run.id);
  const mark = markPath(layout, run.id);
  await Promise.all([
    ensureFolder(contextFolder),
    ensureFolder(marksFolder(layout)),
    openLog(layout, folder),
  ]);
  const { keeper, leaf } = await placeRun(folder, run, caps, deps);
  const context = {
    leaf,
    privileges: privilegeCommand(identity, deps.isRoot),
    workingDir,
    gid: identity.gid,
    environment: environmentPath(layout, run.id),
  } satisfies RunContext;
  await Promise.all([
    saveEnvironment(context.environment, environment),
    saveRunContext(contextFolder, context),
    prepareMarks(mark),
  ]);
  const command = entryCommand(context, [...script.command, ...(spec.args ?? [])]);
  const launcher = await installLauncher(layout);
  await spawnLauncher(launcher, [
    mark,
    keeper,
    leaf,
    logPath(layout, folder),
    context.environment,
    ...command,
  ]);
}

async function findScript(
  { spec }: RunnableApp,
  run: Run,
  gid: number,
  { layout, fetchScript, isRoot }: LaunchDeps,
  signal: AbortSignal,
): Promise<Script> {
  const { shellFile = "", shellFileSHA256 } = spec;
  const sha256 = shellFileSHA256 || undefined;
  const isURL = /^https?:\/\//i.test(shellFile);
  const path = isURL ? await fetchScript(shellFile, sha256, signal) : shellFile;
  return await prepareScript(path, { sha256, copyPath: scriptCopyPath(layout, run.id), gid, isRoot });
}

async function checkFolder(path: string): Promise<void> {
  const info = await stat(path).catch((cause) => {
    throw new StartError(
      "InvalidWorkingDir",
      `spec.workingDir: cannot open ${JSON.stringify(path)}: ${errorCode(cause)}`,
      { cause },
    );
  });
  if (!info.isDirectory()) {
    throw new StartError("InvalidWorkingDir", `spec.workingDir: ${JSON.stringify(path)} is not a directory`);
  }
}

async function placeRun(folder: string, run: Run, caps: Caps, { confinement, enforce }: LaunchDeps) {
  const place = await confinement.prepare({ folder, runId: run.id }, caps).catch((cause) => {
    throw new StartError("LimitsUnavailable", (cause as Error).message, { cause });
  });
  if (
    !place.caps.enforced && place.caps.reason === "LimitsUnavailable" && enforce === "strict" && hasCaps(caps)
  ) {
    throw new StartError(
      "LimitsUnavailable",
      `${describeCaps(caps)} cannot be enforced: ${place.caps.message}; ` +
        "run the agent with --enforce best-effort to start it without",
    );
  }
  return place;
}

/** Creates the log, owned by the agent, before a shell appends to it; a planted symlink is refused. */
async function openLog(layout: Layout, folder: string): Promise<void> {
  await ensureFolder(logFolder(layout, folder), { mode: 0o750 });
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  await using _log = await open(logPath(layout, folder), O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY, 0o640);
}

/** A session of its own, so that `kill 0` in the script cannot reach the launcher; then the user, irrevocably. */
function privilegeCommand({ uid, gid, groups }: Identity, isRoot: boolean): string[] {
  const user = isRoot
    ? ["--reuid", `${uid}`, "--regid", `${gid}`, "--groups", groups.join(","), ...dropInheritable()]
    : [];
  return ["setsid", "setpriv", ...user, "--no-new-privs"];
}

/** The setpriv option that drops the agent's inheritable capabilities. Each is named: a setpriv older than the kernel refuses `-all`. */
export function dropInheritable(status: string = readFileSync("/proc/self/status", "utf8")): string[] {
  const set = BigInt(`0x${/^CapInh:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  const names = Array.from({ length: 64 }, (_, bit) => bit).filter((bit) => (set >> BigInt(bit)) & 1n)
    .map((bit) => `-cap_${bit}`);
  return names.length > 0 ? [`--inh-caps=${names.join(",")}`] : [];
}

/** Installs the launcher under a name with its digest: shells read scripts as they go, so one in use must never change. */
async function installLauncher({ stateDir }: Layout): Promise<string> {
  const digest = createHash("sha256").update(launcherScript).digest("hex").slice(0, 12);
  const path = join(stateDir, `launcher-${digest}.sh`);
  if (readIfExistsSync(path) !== launcherScript) await writeFileAtomic(path, launcherScript);
  return path;
}

async function spawnLauncher(path: string, args: string[]): Promise<void> {
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
