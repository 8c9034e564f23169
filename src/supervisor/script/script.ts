/**
 * Turns `shellFile` into a command: checks the script, local or downloaded (fetch-script.ts), and decides whether its shebang or
 * `sh` runs it.
 *
 * A shell script with the line ends of Windows, or with a byte order mark, runs from a repaired copy, while `$0` stays the path in
 * the spec: `dirname "$0"` is still the script's own folder. Caveats: `${BASH_SOURCE[0]}` is the copy; a script that executes `$0`
 * again, or another file with such line ends, gets the unrepaired file. Other interpreters (Python, Perl, Node) accept such files:
 * they get the file itself, from the shebang without its CR.
 *
 * The agent itself does not touch the script: it may be on a mount that hangs.
 */
import { Buffer } from "node:buffer";
import { chmod, chown, rm } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { checkPath, FileTimeoutError, ProgramError, runProgram } from "../../lib/deadlines/deadlines.ts";
import { ensureFolder, writeNew } from "../../lib/files.ts";
import { shellQuote } from "../../lib/shell.ts";
import { headBytes, isShell, readHead, repairText } from "./script-text.ts";
import { StartError } from "../types.ts";

export { createScriptFetcher } from "./fetch-script.ts";

export interface Script {
  path: string;
  /** The command, without the arguments of the script. */
  command: string[];
}

export interface PrepareScriptOptions {
  /** The path of the repaired copy, if one is needed. */
  copyPath: string;
  sha256?: string;
  /** The field of the spec with the path, for messages. */
  field?: string;
  /** The group that the app runs as. */
  gid: number;
  isRoot?: boolean;
  signal?: AbortSignal;
}

const shell = "/bin/sh";
/** The limit of downloads, too. A longer file is an archive that starts with a script. */
const maxRepairBytes = 10 * 2 ** 20;
/** Enough for the digest of a large file on a slow disk. */
const readTimeoutMs = 60_000;

/** Checks a script on this node and its digest, if one is given, and writes the repaired copy if it needs one. */
export async function prepareScript(path: string, options: PrepareScriptOptions): Promise<Script> {
  const { field = "spec.shellFile", sha256, signal } = options;
  const label = `${field}: ${JSON.stringify(path)}`;
  const { kind, executable, firstLine } = await checkPath(path, label, signal);
  if (kind === "missing" || kind === "unreadable") throw await unreadable(path, label);
  if (kind === "folder") throw new StartError("InvalidScript", `${label} is a folder`);
  if (kind === "other") throw new StartError("InvalidScript", `${label} is not a regular file`);
  if (sha256) await checkDigest(path, label, sha256);
  const head = readHead(Buffer.from(firstLine, "latin1").subarray(0, headBytes));
  if (head.isUTF16) throw new StartError("InvalidScript", `${label} is UTF-16 text; save it as UTF-8`);
  const interpreter = executable && head.shebang || [shell];
  if (!head.needsRepair) {
    return { path, command: executable && (head.shebang || head.isELF) ? [path] : [shell, path] };
  }
  const info = isShell(interpreter) ? await readInfo(path, label) : undefined;
  const text = info && info.size <= maxRepairBytes
    ? repairText(await readWith("cat --", path, label))
    : undefined;
  if (!info || !text) return { path, command: [...interpreter, path] };
  await writeCopy(text, info, options);
  // `#!/bin/sh -` ends the options: the shell would take `-c` for a file.
  const [program = shell, argument = ""] = interpreter;
  const flags = /^--?$/.test(argument) ? [] : interpreter.slice(1);
  return { path, command: [program, ...flags, "-c", `. ${shellQuote(options.copyPath)}`, path] };
}

/**
 * Writes the copy with the owner, group and mode of the file. The file may be in a private folder, so only the group of the app can
 * enter the folder of the copy.
 */
async function writeCopy(
  text: Uint8Array,
  { uid, gid, mode }: { uid: number; gid: number; mode: number },
  { copyPath, gid: appGid, isRoot = process.getuid?.() === 0 }: PrepareScriptOptions,
): Promise<void> {
  const folder = dirname(copyPath);
  await ensureFolder(folder);
  if (isRoot) {
    await chmod(dirname(folder), 0o711);
    await chown(folder, 0, appGid);
    await chmod(folder, 0o710);
  }
  // A stop that an earlier agent did not finish has left its copy.
  await rm(copyPath, { force: true });
  await writeNew(copyPath, text, { mode: 0o400 });
  if (!isRoot) return;
  await chown(copyPath, uid, gid);
  await chmod(copyPath, mode & 0o555);
}

/** Says why a script cannot be read, in the words of the system. */
async function unreadable(path: string, label: string): Promise<StartError> {
  const why = await readWith("head -c 0 --", path, label).then(
    () => "it has changed during the check",
    (error) => {
      if (error instanceof ProgramError) return error.detail.split(": ").at(-1) ?? "";
      throw error;
    },
  );
  return /^(No such file|Not a directory)/i.test(why)
    ? new StartError("ScriptNotFound", `${label}: no such file on this node`)
    : new StartError("ScriptUnreadable", `${label}: cannot be read: ${why}`);
}

async function readInfo(path: string, label: string) {
  const text = await readWith("stat -L -c '%s %u %g %a' --", path, label);
  const [size = 0, uid = 0, gid = 0, mode] = text.toString().trim().split(" ").map(Number);
  return { size, uid, gid, mode: parseInt(String(mode), 8) };
}

/** Runs a program that reads a file, for what the shell of `checkPath` cannot do. Each has a process of its own, so few scripts need it. */
async function readWith(program: string, path: string, label: string): Promise<Uint8Array> {
  try {
    return await runProgram("/bin/sh", ["-c", `exec ${program} "$1"`, "sh", path], {
      timeoutMs: readTimeoutMs,
    });
  } catch (error) {
    const isLate = ((error as Error).cause as Error)?.name === "TimeoutError";
    throw isLate ? new FileTimeoutError(label, readTimeoutMs) : error;
  }
}

async function checkDigest(path: string, label: string, wanted: string): Promise<void> {
  const found = (await readWith("sha256sum <", path, label)).toString().slice(0, 64);
  if (found !== wanted.toLowerCase()) {
    throw new StartError(
      "DigestMismatch",
      `spec.shellFileSHA256: ${
        JSON.stringify(path)
      } has the digest ${found}, not ${wanted}: the script was not run`,
    );
  }
}
