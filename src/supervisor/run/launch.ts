/**
 * Starts a run: resolves what the spec names, prepares the cgroup with its caps, and starts the launcher.
 *
 * User-fixable problems are StartErrors. The order matters in three places: the script is checked last of what the spec names, so that
 * it has little time to change; the caps are in force before anything of the app runs; and the launcher, which reads the files, comes
 * after all of them. The log comes first of the files, since it may be on a mount that hangs. If the start of the launcher fails, the
 * caller cancels the run, and the claim decides.
 */
import { inQueue } from "../../lib/deadlines/deadlines.ts";
import { ensureFolder } from "../../lib/files.ts";
import {
  type Caps,
  capsOf,
  type CapsState,
  type Confinement,
  describeCaps,
  hasCaps,
} from "../confinement/confinement.ts";
import { buildEnvironment, type Environment, type ResolveValue } from "./environment.ts";
import { readEnvFile } from "./env-file.ts";
import { keyOf } from "../../api/names.ts";
import type { Logger } from "../../lib/log.ts";
import { resolveIdentity } from "../identity/identity.ts";
import { type Launcher, type ProcessContext, userField, type UserFiles } from "../launcher/launcher.ts";
import {
  environmentPath,
  folderOf,
  logFolder,
  markPath,
  runFolder,
  type RunLayout,
  scriptCopyPath,
  valuesPath,
} from "../layout.ts";
import type { LimitFiles } from "../logs/logs.ts";
import { keepScript, readKeptScript } from "./kept-scripts.ts";
import { openLastValues } from "./last-values.ts";
import { prepareMarks } from "./launcher-marks.ts";
import { saveRunContext } from "./run-context.ts";
import { saveEnvironment } from "./run-environment.ts";
import {
  checkScript,
  digestScript,
  nameUser,
  prepareCopy,
  prepareScript,
  type Script,
} from "../script/script.ts";
import { type Run, type RunnableApp, StartError } from "../types.ts";

export type Enforce = "strict" | "best-effort";

export interface LaunchDeps {
  layout: RunLayout;
  confinement: Confinement;
  launcher: Launcher;
  nodeName: string;
  enforce: Enforce;
  /** Whether the agent may change users. */
  isRoot: boolean;
  resolveValue: ResolveValue;
  /** Creates the folder of the run, with a copy of the app's record: a lost record is recovered from it. */
  saveRecord: (runFolder: string) => void;
  log: Logger;
  /** Downloads a URL to a local file and checks its digest. */
  fetchScript: (url: string, sha256: string | undefined, signal: AbortSignal) => Promise<string>;
  limitFiles: LimitFiles;
  /** The scripts of the app's versions: which one to run in place of what is there now, and which to keep; undefined for none. */
  scripts?: { pinned?: string; keep: string[] };
}

/** Starts a run; resolves with the state of its caps when its launcher is started. */
export async function launchRun(
  app: RunnableApp,
  run: Run,
  deps: LaunchDeps,
  signal: AbortSignal,
): Promise<CapsState> {
  const { layout } = deps;
  const { spec } = app;
  const folder = folderOf(app);
  const values = await openLastValues(app, {
    path: valuesPath(layout, folder),
    bootId: run.bootId,
    resolve: deps.resolveValue,
    onReuse: ({ message }) =>
      deps.log.warn("using a value of the last start", { app: keyOf(app), why: message }),
  });
  const onSkipped = (where: string) =>
    deps.log.warn("skipping lines that are no NAME=VALUE", { app: keyOf(app), where });
  const { user, workingDir, environment } = await resolvePlace(app, run.id, {
    ...deps,
    resolveValue: values.resolve,
    onSkipped,
    signal,
  });
  // After everything slow, so that there is little time to replace a local file that was checked.
  const searchPath = environment.PATH;
  const script = await resolveScript(app, run, { user, workingDir, searchPath, signal }, deps);
  signal.throwIfAborted();

  const contextFolder = runFolder(layout, run.id);
  const [mark, log] = [markPath(layout, run.id), logFolder(layout, folder)];
  const { keeper, leaf, caps } = await placeRun(folder, run, capsOf(app), deps);
  const context = {
    leaf,
    user,
    workingDir,
    environment: environmentPath(layout, run.id),
    ...(deps.scripts ? { script: await keepContent(app, script, deps) } : {}),
  } satisfies ProcessContext & { script?: string };
  // Not by the launcher: the mount may hang.
  const isNew = await inQueue(layout.logDir, () => ensureFolder(log, { mode: 0o750 }), { path: log, signal });
  await deps.limitFiles.write(app, { isNew });
  saveEnvironment(context.environment, environment);
  await values.save();
  deps.saveRecord(contextFolder);
  saveRunContext(contextFolder, context);
  prepareMarks(mark, contextFolder);
  signal.throwIfAborted();
  const command = [...script.command, ...(spec.args ?? [])];
  await deps.launcher.start({ mark, keeper, log, context, command });
  return caps;
}

/**
 * Reports whether something on this node that the app needs is missing now, without a start: its user, folder, environment, script or
 * interpreter, or the cgroup with its caps. Nothing leaves the node for it.
 */
export async function isStartBlocked(
  app: RunnableApp,
  deps: Pick<LaunchDeps, "confinement" | "launcher" | "nodeName" | "enforce" | "isRoot" | "resolveValue">,
): Promise<boolean> {
  const { shellFile = "" } = app.spec;
  try {
    const resolveValue: ResolveValue = (app, variable) => deps.resolveValue(app, variable, { onNode: true });
    const { user, workingDir, environment } = await resolvePlace(app, "", { ...deps, resolveValue });
    if (!isURL(shellFile)) {
      await checkScript(shellFile, { user, files: deps.launcher, workingDir, searchPath: environment.PATH });
    }
    const caps = capsOf(app);
    return !mayStartWith(await deps.confinement.prepareApp(folderOf(app), caps), caps, deps.enforce);
  } catch {
    return true;
  }
}

/** What the script runs in: the user, the folder and the environment that the spec names. */
async function resolvePlace(
  app: RunnableApp,
  runId: string,
  { isRoot, launcher, nodeName, resolveValue, onSkipped = () => {}, signal }:
    & Pick<LaunchDeps, "isRoot" | "launcher" | "nodeName" | "resolveValue">
    & { onSkipped?: (where: string) => void; signal?: AbortSignal },
): Promise<{ user: string; workingDir: string; environment: Environment }> {
  const { runAsUser, runAsGroup, envFile, workingDir: folder } = app.spec;
  const workingDir = folder || "/";
  const identity = await resolveIdentity(runAsUser, runAsGroup);
  const user = userField(identity, isRoot);
  await checkFolder(workingDir, user, launcher, signal);
  const fromFile = envFile ? await readEnvFile(envFile, { user, files: launcher, onSkipped }) : [];
  const resolve = resolveValue;
  const environment = await buildEnvironment(app, { identity, fromFile, nodeName, runId, resolve });
  return { user, workingDir, environment };
}

async function resolveScript(
  app: RunnableApp,
  run: Run,
  options: { user: string; workingDir: string; searchPath?: string; signal: AbortSignal },
  { layout, fetchScript, launcher, scripts }: LaunchDeps,
): Promise<Script> {
  const { shellFile = "", shellFileSHA256 } = app.spec;
  const sha256 = shellFileSHA256 || undefined;
  const copyPath = scriptCopyPath(layout, run.id);
  const all = { ...options, sha256, copyPath, files: launcher, keep: scripts !== undefined };
  const { pinned } = scripts ?? {};
  const kept = pinned === undefined ? undefined : await readKeptScript(layout, folderOf(app), pinned);
  if (kept) {
    // From its own place if it is there: it may need what is beside it.
    const own = isURL(shellFile) ? undefined : await prepareScript(shellFile, all).catch(() => undefined);
    if (own?.content?.digest === pinned) return own!;
    // A URL may hold a password, and the path is in the command line.
    return await prepareCopy(isURL(shellFile) ? copyPath : shellFile, kept, all);
  }
  const path = isURL(shellFile) ? await fetchScript(shellFile, sha256, options.signal) : shellFile;
  return await prepareScript(path, all);
}

/** Keeps the script for later versions; returns its digest, or nothing if it is not kept. A full disk does not keep the app from running. */
async function keepContent(
  app: RunnableApp,
  { content }: Script,
  { layout, scripts, log }: LaunchDeps,
): Promise<string> {
  if (!content) return "";
  try {
    await keepScript(layout, folderOf(app), { ...content, keep: scripts?.keep ?? [] });
    return content.digest;
  } catch (error) {
    log.warn("cannot keep a script for a rollback", { app: keyOf(app), error });
    return "";
  }
}

/** The digest of the script that an app names now; undefined if it cannot be read, is not kept, or is downloaded. */
export async function readScriptDigest(
  { spec }: RunnableApp,
  { launcher, isRoot }: Pick<LaunchDeps, "launcher" | "isRoot">,
): Promise<string | undefined> {
  const { shellFile = "" } = spec;
  if (isURL(shellFile)) return undefined;
  try {
    const user = userField(await resolveIdentity(spec.runAsUser, spec.runAsGroup), isRoot);
    return await digestScript(shellFile, { user, files: launcher });
  } catch {
    return undefined;
  }
}

function isURL(shellFile: string): boolean {
  return /^https?:\/\//i.test(shellFile);
}

/** As the app's user, who enters it. */
async function checkFolder(
  path: string,
  user: string,
  files: UserFiles,
  signal?: AbortSignal,
): Promise<void> {
  if (path === "/") return;
  const label = `spec.workingDir: ${JSON.stringify(path)}`;
  const { kind, executable, error = "" } = await files.look(path, { user, label, signal });
  if (kind === "folder" && executable) return;
  const why = kind === "folder" || error === "EACCES"
    ? `${nameUser(user)} may not enter it, or a folder above it`
    : kind === "missing"
    ? "no such folder on this node"
    : "not a directory";
  throw new StartError("InvalidWorkingDir", `${label}: ${why}`);
}

async function placeRun(folder: string, run: Run, caps: Caps, { confinement, enforce }: LaunchDeps) {
  const place = await confinement.prepare({ folder, runId: run.id }, caps).catch((cause) => {
    throw new StartError("LimitsUnavailable", (cause as Error).message, { cause });
  });
  const state = place.caps;
  if (!state.enforced && !mayStartWith(state, caps, enforce)) {
    throw new StartError(
      "LimitsUnavailable",
      `${describeCaps(caps)} cannot be enforced: ${state.message}; ` +
        "run the agent with --enforce best-effort to start it without",
    );
  }
  return place;
}

/** Reports whether an app may start with its caps in this state. */
function mayStartWith(state: CapsState, caps: Caps, enforce: Enforce): boolean {
  return state.enforced || state.reason !== "LimitsUnavailable" || enforce !== "strict" || !hasCaps(caps);
}
