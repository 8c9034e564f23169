/** Checks that the interpreter of a script is on this node: the kernel and env(1) would only say that the script is not found. */
import { resolve } from "node:path";
import { quote } from "../../api/field-error.ts";
import type { UserFiles } from "../launcher/launcher.ts";
import { StartError } from "../types.ts";
import { searchedProgram } from "./script-text.ts";

export interface InterpreterOptions {
  user: string;
  files: UserFiles;
  workingDir?: string;
  searchPath?: string;
  signal?: AbortSignal;
}

/** Every node has it. */
const shell = "/bin/sh";
/** A PATH has a dozen folders. The looks of all apps share a queue, so a longer one must not keep the others waiting. */
const maxFolders = 64;

/** Throws a StartError that names the interpreter, unless the app's user may execute it. `label` names the script. */
export async function checkInterpreter(
  shebang: string[],
  label: string,
  { user, files, workingDir = "/", searchPath, signal }: InterpreterOptions,
): Promise<void> {
  const [interpreter = shell] = shebang;
  if (interpreter === shell) return;
  const line = quote(`#!${shebang.join(" ")}`);
  const look = (path: string) =>
    files.look(path, { user, label: `${label}: interpreter ${quote(path)}`, signal });
  const seen = await look(resolve(workingDir, interpreter));
  if (!seen.executable || seen.kind === "folder" || seen.kind === "other") {
    const isMissing = seen.error === "ENOENT" || seen.error === "ENOTDIR";
    const why = isMissing
      ? `there is no ${quote(interpreter)} on this node`
      : `${nameUser(user)} may not execute ${quote(interpreter)}`;
    throw new StartError("InterpreterNotFound", `${label}: its first line is ${line}, and ${why}`);
  }
  const program = searchedProgram(shebang);
  if (program === undefined || searchPath === undefined) return;
  const folders = [...new Set(searchPath.split(":"))];
  for (const folder of folders.slice(0, maxFolders)) {
    const { kind, executable } = await look(resolve(workingDir, folder, program));
    if (executable && (kind === "file" || kind === "unreadable")) return;
  }
  // It may be in one of the rest: env(1) finds it there, or says that it does not.
  if (folders.length > maxFolders) return;
  throw new StartError(
    "InterpreterNotFound",
    `${label}: its first line is ${line}, and ${quote(program)} is in no folder of the PATH, ${
      quote(searchPath)
    }`,
  );
}

/** The user of an app, in messages. */
export function nameUser(user: string): string {
  return user ? `uid ${user.split(" ", 1)}` : "the agent's user";
}
