/**
 * From `shellFile` to a command: checks the file and decides how it is run, by its shebang or by `sh`.
 *
 * A shell script with the line ends of Windows, or with a byte order mark, is read from a mended copy, while `$0` stays the
 * path that the spec names: `dirname "$0"` is the script's own folder, as ever. Caveats: `${BASH_SOURCE[0]}` is the copy; a
 * script that executes `$0` again, or another file with such line ends, meets the file as it is. Other interpreters
 * (Python, Perl, Node) take such files: they get the file itself, by the shebang without its CR.
 */
import { createHash } from "node:crypto";
import { chmod, chown, constants, type FileHandle, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { ensureFolder, errorCode, writeNew } from "../../lib/files.ts";
import { shellQuote } from "../../lib/shell.ts";
import { headBytes, isShell, mendText, readHead } from "./script-text.ts";
import { StartError } from "../start-error.ts";

export { createScriptFetcher } from "./fetch-script.ts";

export interface Script {
  path: string;
  /** What to execute; the script's own arguments follow. */
  command: string[];
}

export interface PrepareScriptOptions {
  /** Where a mended copy goes, if one is needed. */
  copyPath: string;
  /** The digest that the file must have. */
  sha256?: string;
  /** Which field of the spec names the script. */
  field?: string;
  /** The group that the app runs as. */
  gid: number;
  isRoot?: boolean;
}

const shell = "/bin/sh";
/** As much as a download may have: what is longer is an archive with a script for its head. */
const mostMended = 10 * 2 ** 20;

/** Looks at a script on this node, and at its digest if one is asked for; writes the mended copy where it needs one. */
export async function prepareScript(path: string, options: PrepareScriptOptions): Promise<Script> {
  const { field = "spec.shellFile", sha256 } = options;
  const named = `${field}: ${JSON.stringify(path)}`;
  await using file = await openScript(path, named);
  const info = await file.stat();
  if (info.isDirectory()) throw new StartError("InvalidScript", `${named} is a folder`);
  if (!info.isFile()) throw new StartError("InvalidScript", `${named} is not a regular file`);
  if (sha256) await checkDigest(file, path, sha256);
  const head = readHead(await readStart(file));
  if (head.isUTF16) throw new StartError("InvalidScript", `${named} is UTF-16 text; save it as UTF-8`);
  const executable = (info.mode & 0o111) !== 0;
  const interpreter = executable && head.shebang || [shell];
  if (!head.needsMending) {
    return { path, command: executable && (head.shebang || head.isELF) ? [path] : [shell, path] };
  }
  const text = isShell(interpreter) && info.size <= mostMended ? mendText(await file.readFile()) : undefined;
  if (!text) return { path, command: [...interpreter, path] };
  await writeCopy(text, info, options);
  // `#!/bin/sh -` ends the options, and would take the next one for a file.
  const [program = shell, argument = ""] = interpreter;
  const flags = /^--?$/.test(argument) ? [] : interpreter.slice(1);
  return { path, command: [program, ...flags, "-c", `. ${shellQuote(options.copyPath)}`, path] };
}

/**
 * The copy is for whom the file is for: it has the same owner, group and mode. The file may stand in a private folder, so only
 * the app's group can enter the folder of the copy.
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
  // A stop that an agent did not finish is made again.
  await rm(copyPath, { force: true });
  await writeNew(copyPath, text, { mode: 0o400 });
  if (!isRoot) return;
  await chown(copyPath, uid, gid);
  await chmod(copyPath, mode & 0o555);
}

async function openScript(path: string, named: string): Promise<FileHandle> {
  try {
    // A FIFO would block an ordinary open for ever.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    const code = errorCode(cause);
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new StartError("ScriptNotFound", `${named}: no such file on this node`, { cause });
    }
    throw new StartError("ScriptUnreadable", `${named}: cannot be read: ${code}`, { cause });
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
      `spec.shellFileSHA256: ${JSON.stringify(path)} has the digest ${found}, not ${wanted}: it was not run`,
    );
  }
}
