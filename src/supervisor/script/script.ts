/**
 * Turns `shellFile` into a command: checks the script, local or downloaded (fetch-script.ts), and decides whether its shebang or
 * `sh` runs it.
 *
 * A shell script with the line ends of Windows, or with a byte order mark, runs from a repaired copy, while `$0` stays the path in
 * the spec: `dirname "$0"` is still the script's own folder. Caveats: `${BASH_SOURCE[0]}` is the copy; a script that executes `$0`
 * again, or another file with such line ends, gets the unrepaired file. Other interpreters (Python, Perl, Node) accept such files:
 * they get the file itself, from the shebang without its CR.
 *
 * The script is looked at and read as the app's user (supervisor/launcher), so nothing of a file that this user cannot read reaches the copy,
 * the command line or a message, whatever the path leads to by then. The agent itself does not touch it: it may be on a mount that hangs.
 * The digest, the interpreter and the copy are those of the same bytes. Without a copy, the file may change until it is executed.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { chmod, chown, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { FileTimeoutError } from "../../lib/deadlines/deadlines.ts";
import { ensureFolder, errorCode, explainFileError, writeNew } from "../../lib/files.ts";
import { shellQuote } from "../../lib/shell.ts";
import type { UserFiles } from "../launcher/launcher.ts";
import { headBytes, isShell, readHead, repairText, type ScriptHead } from "./script-text.ts";
import { StartError } from "../types.ts";

export { createScriptFetcher } from "./fetch-script.ts";

export interface Script {
  path: string;
  /** The command, without the arguments of the script. */
  command: string[];
}

export interface PrepareScriptOptions {
  /** The user of the app: `UID GID GROUP...`; "" for the agent's own. */
  user: string;
  files: UserFiles;
  /** The path of the repaired copy, if one is needed. */
  copyPath: string;
  sha256?: string;
  /** The field of the spec with the path, for messages. */
  field?: string;
  signal?: AbortSignal;
}

const shell = "/bin/sh";
/** The limit of downloads, too. A longer file is an archive that starts with a script. */
const maxRepairBytes = 10 * 2 ** 20;

/** Checks a script on this node and its digest, if one is given, and writes the repaired copy if it needs one. */
export async function prepareScript(path: string, options: PrepareScriptOptions): Promise<Script> {
  const { field = "spec.shellFile", sha256, user, files, signal } = options;
  const label = `${field}: ${JSON.stringify(path)}`;
  const seen = await files.look(path, { user, label, signal });
  // A program that its user may execute, but not read.
  if (seen.kind === "unreadable" && seen.executable && !sha256) return { path, command: [path] };
  if (seen.error) throw unreadable(label, seen.error, user);
  if (seen.kind === "folder") throw new StartError("InvalidScript", `${label} is a folder`);
  if (seen.kind === "other") throw new StartError("InvalidScript", `${label} is not a regular file`);
  const isRepairable = needsCopy(readHead(seen.head), seen.executable);
  const whole = sha256 || isRepairable ? await readWhole(path, label, isRepairable, options) : undefined;
  if (whole && sha256) checkDigest(path, whole.digest, sha256);
  const head = whole ? readHead(whole.head) : readHead(seen.head);
  if (head.isUTF16) throw new StartError("InvalidScript", `${label} is UTF-16 text; save it as UTF-8`);
  if (!head.needsRepair) {
    return { path, command: seen.executable && (head.shebang || head.isELF) ? [path] : [shell, path] };
  }
  const interpreter = interpreterOf(head, seen.executable);
  const text = whole?.content && isShell(interpreter) ? repairText(whole.content) : undefined;
  if (!text) return { path, command: [...interpreter, path] };
  await writeCopy(text, options);
  // `#!/bin/sh -` ends the options: the shell would take `-c` for a file.
  const [program = shell, argument = ""] = interpreter;
  const flags = /^--?$/.test(argument) ? [] : interpreter.slice(1);
  return { path, command: [program, ...flags, "-c", `. ${shellQuote(options.copyPath)}`, path] };
}

function interpreterOf({ shebang }: ScriptHead, executable: boolean): string[] {
  return executable && shebang || [shell];
}

function needsCopy(head: ScriptHead, executable: boolean): boolean {
  return head.needsRepair && isShell(interpreterOf(head, executable));
}

/** Reads a file once: its digest, its first bytes and, if it is to be kept and not too long, all of it. */
async function readWhole(
  path: string,
  label: string,
  keep: boolean,
  { user, files }: PrepareScriptOptions,
): Promise<{ digest: string; head: Uint8Array; content?: Uint8Array }> {
  const hash = createHash("sha256");
  const most = keep ? maxRepairBytes : headBytes;
  let kept: Uint8Array[] = [];
  let bytes = 0;
  await files.read(path, { user, label }, (chunk) => {
    hash.update(chunk);
    if (bytes < most) kept.push(chunk.subarray(0, most - bytes));
    bytes += chunk.length;
  }).catch((error) => {
    throw "code" in error && !(error instanceof FileTimeoutError)
      ? unreadable(label, errorCode(error), user)
      : error;
  });
  const content = Buffer.concat(kept);
  kept = [];
  return {
    digest: hash.digest("hex"),
    head: content.subarray(0, headBytes),
    ...(keep && bytes <= most ? { content } : {}),
  };
}

/** Writes the copy for the app's user alone: the script may be for nobody else, or in a private folder. */
async function writeCopy(text: Uint8Array, { copyPath, user }: PrepareScriptOptions): Promise<void> {
  const folder = dirname(copyPath);
  const [uid = 0, gid = 0] = user.split(" ").map(Number);
  await ensureFolder(folder);
  if (user) {
    await chmod(dirname(folder), 0o711);
    await chown(folder, 0, gid);
    await chmod(folder, 0o710);
  }
  // A stop that an earlier agent did not finish has left its copy.
  await rm(copyPath, { force: true });
  await writeNew(copyPath, text, { mode: 0o400 });
  if (user) await chown(copyPath, uid, gid);
}

/** Says why a script cannot be read. */
function unreadable(label: string, code: string, user: string): StartError {
  if (code === "ENOENT" || code === "ENOTDIR") {
    return new StartError("ScriptNotFound", `${label}: no such file on this node`);
  }
  const who = user ? ` by uid ${user.split(" ", 1)}` : "";
  return new StartError(
    "ScriptUnreadable",
    `${label}: cannot be read${who}: ${explainFileError({ code })}`,
  );
}

function checkDigest(path: string, found: string, wanted: string): void {
  if (found === wanted.toLowerCase()) return;
  throw new StartError(
    "DigestMismatch",
    `spec.shellFileSHA256: ${
      JSON.stringify(path)
    } has the digest ${found}, not ${wanted}: the script was not run`,
  );
}
