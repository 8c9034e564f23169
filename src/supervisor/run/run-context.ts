/**
 * How a run was started: its cgroup, user, folder and environment, kept as a file in the run's folder. Commands that enter the run
 * read it, so that they run as the app was started, even if the spec has changed since.
 */
import { readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import process from "node:process";
import { errorCode, writeNewSync } from "../../lib/files.ts";
import type { ProcessContext } from "../launcher/launcher.ts";
import { environmentPath, runFolder as folderOfRun, type RunLayout } from "../layout.ts";
import { checkEnvironment } from "./run-environment.ts";

/** The context of a run is gone or damaged: no command can enter it until its app restarts. */
export class RunContextLostError extends Error {
  override name = "RunContextLostError";
}

const contextFile = (runFolder: string) => join(runFolder, "inside.json");

/** What a run was started with. */
interface RunContext extends ProcessContext {
  /** The digest of its script, if the app keeps scripts; see Run. */
  script?: string;
}

export function saveRunContext(runFolder: string, context: RunContext): void {
  writeNewSync(contextFile(runFolder), JSON.stringify(context));
}

/** Reads the context of a run; throws if the file cannot be of this run. */
export async function readRunContext(runFolder: string): Promise<RunContext> {
  const path = contextFile(runFolder);
  const context: RunContext = JSON.parse(await readFile(path, "utf8"));
  const { leaf, user, workingDir, environment } = context ?? {};
  const isLeaf = leaf === "" ||
    (typeof leaf === "string" && leaf === join("/", leaf) && basename(leaf) === basename(runFolder));
  if (isLeaf && [user, workingDir, environment].every((field) => typeof field === "string")) return context;
  throw new Error(`${path} is damaged: it does not say how this run was started`);
}

/** The context of a run that a command is about to enter, with an environment that can be read. */
export async function requireRunContext(runFolder: string): Promise<ProcessContext> {
  try {
    const context = await readRunContext(runFolder);
    await checkEnvironment(context.environment);
    return context;
  } catch (error) {
    const { message, cause } = error as Error;
    // A missing or damaged file stays that way. One that cannot be read now, such as for lack of descriptors, is not lost.
    const isLost = !isSystemError(cause ?? error) || errorCode(cause ?? error) === "ENOENT";
    throw isLost ? new RunContextLostError(message, { cause: error }) : error;
  }
}

/**
 * The user and the groups that commands in a run get: the app's, or the agent's own if the agent was not root when it started the
 * run. undefined if the context of the run cannot be read or names no user.
 */
export async function readRunUser(
  runFolder: string,
  own: readonly number[] = ownIds(),
): Promise<{ uid: number; groups: readonly number[] } | undefined> {
  const { user } = await readRunContext(runFolder).catch(() => ({ user: undefined }));
  const ids = user === "" ? own : /^\d+( \d+)*$/.test(user ?? "") ? user!.split(" ").map(Number) : [];
  const [uid, ...groups] = ids;
  return uid === undefined ? undefined : { uid, groups };
}

function ownIds(): number[] {
  const { getuid, getgid, getgroups } = process;
  return getuid && getgid && getgroups ? [getuid(), getgid(), ...getgroups()] : [];
}

/** The cgroup that a run was started in, "" for none; undefined if its context cannot be read. */
export async function readLeaf(runFolder: string): Promise<string | undefined> {
  return (await readRunContext(runFolder).catch(() => undefined))?.leaf;
}

/** Removes the environment of a run, also from where an agent with another socket has written it. */
export async function removeEnvironment(layout: RunLayout, runId: string): Promise<void> {
  const context = await readRunContext(folderOfRun(layout, runId)).catch(() => undefined);
  await rm(environmentPath(layout, runId), { force: true });
  // A damaged file must not make the agent remove any other path.
  const elsewhere = context?.environment ?? "";
  if (basename(elsewhere) === runId) await rm(elsewhere, { force: true });
}

function isSystemError(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).code === "string";
}
