/**
 * Turns `shellFile` into a command: checks the script, local or downloaded (fetch-script.ts), and decides whether its shebang or
 * `sh` runs it.
 *
 * A shell script with the line ends of Windows, or with a byte order mark, runs from a repaired copy, while `$0` stays the path in
 * the spec: `dirname "$0"` is still the script's own folder. Caveats: `${BASH_SOURCE[0]}` is the copy; a script that executes `$0`
 * again, or another file with such line ends, gets the unrepaired file. Other interpreters (Python, Perl, Node) accept such files:
 * they get the file itself, from the shebang without its CR.
 */
import { createHash } from "node:crypto";
import { chmod, chown, constants, type FileHandle, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { ensureFolder, errorCode, writeNew } from "../../lib/files.ts";
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
}

const shell = "/bin/sh";
/** The limit of downloads, too. A longer file is an archive that starts with a script. */
const maxRepairBytes = 10 * 2 ** 20;

/** Checks a script on this node and its digest, if one is given, and writes the repaired copy if it needs one. */
export async function prepareScript(path: string, options: PrepareScriptOptions): Promise<Script> {
  const { field = "spec.shellFile", sha256 } = options;
  const label = `${field}: ${JSON.stringify(path)}`;
  await using file = await openScript(path, label);
  const info = await file.stat();
  if (info.isDirectory()) throw new StartError("InvalidScript", `${label} is a folder`);
  if (!info.isFile()) throw new StartError("InvalidScript", `${label} is not a regular file`);
  if (sha256) await checkDigest(file, path, sha256);
  const head = readHead(await readStart(file));
  if (head.isUTF16) throw new StartError("InvalidScript", `${label} is UTF-16 text; save it as UTF-8`);
  const executable = (info.mode & 0o111) !== 0;
  const interpreter = executable && head.shebang || [shell];
  if (!head.needsRepair) {
    return { path, command: executable && (head.shebang || head.isELF) ? [path] : [shell, path] };
  }
  const text = isShell(interpreter) && info.size <= maxRepairBytes
    ? repairText(await file.readFile())
    : undefined;
  if (!text) return { path, command: [...interpreter, path] };
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

async function openScript(path: string, label: string): Promise<FileHandle> {
  try {
    // Opening a FIFO without O_NONBLOCK would block forever.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    const code = errorCode(cause);
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new StartError("ScriptNotFound", `${label}: no such file on this node`, { cause });
    }
    throw new StartError("ScriptUnreadable", `${label}: cannot be read: ${code}`, { cause });
  }
}

async function readStart(file: FileHandle): Promise<Uint8Array> {
  const head = new Uint8Array(headBytes);
  const { bytesRead } = await file.read(head, 0, headBytes, 0);
  return head.subarray(0, bytesRead);
}

async function checkDigest(file: FileHandle, path: string, wanted: string): Promise<void> {
  const hash = createHash("sha256");
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false })) hash.update(chunk);
  const found = hash.digest("hex");
  if (found !== wanted.toLowerCase()) {
    throw new StartError(
      "DigestMismatch",
      `spec.shellFileSHA256: ${
        JSON.stringify(path)
      } has the digest ${found}, not ${wanted}: the script was not run`,
    );
  }
}
