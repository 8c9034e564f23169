/**
 * Turns `shellFile` into a command: checks the script, local or downloaded (fetch-script.ts), and decides whether its shebang or
 * `sh` runs it. The kernel reads the shebang of an executable file; of any other, this does, so a lost x bit changes nothing.
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
import { quote } from "../../api/field-error.ts";
import { ensureFolder, errorCode, explainFileError, writeNew } from "../../lib/files.ts";
import { shellQuote } from "../../lib/shell.ts";
import type { UserFiles } from "../launcher/launcher.ts";
import { checkInterpreter, nameUser } from "./interpreter.ts";
import {
  headBytes,
  isNamedLikeArchive,
  isShell,
  notScript,
  readHead,
  repairText,
  type ScriptHead,
} from "./script-text.ts";
import { StartError } from "../types.ts";

export { createScriptFetcher } from "./fetch-script.ts";
export { nameUser } from "./interpreter.ts";

export interface Script {
  path: string;
  /** The command, without the arguments of the script. */
  command: string[];
  /** What it runs, if that was asked for and is a script that can be kept. */
  content?: { digest: string; content: Uint8Array };
}

export interface PrepareScriptOptions {
  /** The user of the app: `UID GID GROUP...`; "" for the agent's own. */
  user: string;
  files: UserFiles;
  /** The path of the repaired copy, if one is needed. */
  copyPath: string;
  sha256?: string;
  /** The field of the spec with the path, for messages. */
  field?: "spec.shellFile" | "spec.stopFile";
  /** Where the script runs: interpreters may be relative to it. */
  workingDir?: string;
  /** The PATH that the script gets; undefined if it is not known. */
  searchPath?: string;
  /** Whether to return the content. */
  keep?: boolean;
  signal?: AbortSignal;
}

const shell = "/bin/sh";
/** The limit of downloads, too. A longer file is an archive that starts with a script. */
const maxRepairBytes = 10 * 2 ** 20;
/** The longest script whose content is returned: one that was written, not packed. */
const maxKeptBytes = 2 ** 20;

/** Checks a script on this node and its digest, if one is given, and writes the repaired copy if it needs one. */
export async function prepareScript(path: string, options: PrepareScriptOptions): Promise<Script> {
  const { field = "spec.shellFile", sha256, user, files, signal } = options;
  const label = `${field}: ${JSON.stringify(path)}`;
  const seen = await files.look(path, { user, label, signal });
  // A program that its user may execute, but not read.
  if (seen.kind === "unreadable" && seen.executable && !sha256) return { path, command: [path] };
  if (seen.error) throw unreadable(label, seen.error, user, await hintAtArguments(path, options));
  if (seen.kind === "folder") throw new StartError("InvalidScript", `${label} is a folder`);
  if (seen.kind === "other") throw new StartError("InvalidScript", `${label} is not a regular file`);
  const isRepairable = needsCopy(readHead(seen.head));
  const most = isRepairable ? maxRepairBytes : options.keep ? maxKeptBytes : headBytes;
  const whole = sha256 || most > headBytes ? await readWhole(path, label, most, options) : undefined;
  if (whole && sha256) checkDigest(path, whole.digest, sha256);
  const head = whole ? readHead(whole.head) : readHead(seen.head);
  if (head.isUTF16) throw new StartError("InvalidScript", `${label} is UTF-16 text; save it as UTF-8`);
  if (isArchive(path, head)) {
    throw new StartError("InvalidScript", `${label} ${notScript}`);
  }
  if (head.isELF && !seen.executable) {
    throw new StartError(
      "InvalidScript",
      `${label} is a program that ${nameUser(user)} may not execute: try chmod +x`,
    );
  }
  if (head.isELF) return { path, command: [path] };
  const interpreter = head.shebang ?? [shell];
  await checkInterpreter(interpreter, label, options);
  const content = whole && options.keep ? keptContent(whole) : {};
  if (!head.needsRepair) {
    const command = seen.executable && head.shebang ? [path] : [...interpreter, path];
    return { path, command, ...content };
  }
  const text = whole?.content && isShell(interpreter) ? repairText(whole.content) : undefined;
  if (!text) return { path, command: [...interpreter, path], ...content };
  return { path, command: await copyCommand(path, interpreter, text, options), ...content };
}

/** Throws a StartError unless a script is there for its user, with its interpreter. Costs looks alone: the content is not read. */
export async function checkScript(
  path: string,
  options: Omit<PrepareScriptOptions, "copyPath">,
): Promise<void> {
  const { field = "spec.shellFile", user, files } = options;
  const label = `${field}: ${quote(path)}`;
  const { kind, executable, head, error = "" } = await files.look(path, { user, label });
  if (kind === "unreadable" && executable) return;
  if (kind !== "file") throw unreadable(label, error, user);
  const { isELF, shebang = [shell] } = readHead(head);
  if (!isELF) await checkInterpreter(shebang, label, options);
}

/** Runs this content in place of what is at the path. Caveat: only a shell script gets the path as its `$0`. */
export async function prepareCopy(
  path: string,
  content: Uint8Array,
  options: PrepareScriptOptions,
): Promise<Script> {
  const { needsRepair, shebang: interpreter = [shell] } = readHead(content.subarray(0, headBytes));
  const { field = "spec.shellFile" } = options;
  await checkInterpreter(interpreter, `${field}: ${quote(path)}`, options);
  const text = needsRepair && isShell(interpreter) ? repairText(content) ?? content : content;
  const digest = createHash("sha256").update(content).digest("hex");
  return { path, command: await copyCommand(path, interpreter, text, options), content: { digest, content } };
}

/** The digest of a script, read as a user; undefined if it is not one that can be kept. */
export async function digestScript(
  path: string,
  options: Pick<PrepareScriptOptions, "user" | "files">,
): Promise<string | undefined> {
  const label = `spec.shellFile: ${quote(path)}`;
  // A path that hangs is known to the look, which starts no second process for it.
  const { kind } = await options.files.look(path, { user: options.user, label });
  if (kind !== "file") return undefined;
  const whole = await readWhole(path, label, maxKeptBytes, options);
  return keptContent(whole).content?.digest;
}

function keptContent({ digest, head, content }: Whole): Pick<Script, "content"> {
  const isKept = content && content.length <= maxKeptBytes && !readHead(head).isELF;
  return isKept ? { content: { digest, content } } : {};
}

/** Writes the copy of a script; returns the command that runs it. */
async function copyCommand(
  path: string,
  interpreter: string[],
  text: Uint8Array,
  options: PrepareScriptOptions,
): Promise<string[]> {
  await writeCopy(text, options);
  if (!isShell(interpreter)) return [...interpreter, options.copyPath];
  // `#!/bin/sh -` ends the options: the shell would take `-c` for a file.
  const [program = shell, argument = ""] = interpreter;
  const flags = /^--?$/.test(argument) ? [] : interpreter.slice(1);
  return [program, ...flags, "-c", `. ${shellQuote(options.copyPath)}`, path];
}

/** A name proves nothing: a script may be named like an archive. */
function isArchive(path: string, { archive, shebang, isELF }: ScriptHead): boolean {
  return archive !== undefined || isNamedLikeArchive(path) && !shebang && !isELF;
}

function needsCopy({ needsRepair, shebang = [shell] }: ScriptHead): boolean {
  return needsRepair && isShell(shebang);
}

/** What to do about a command line in the place of a path; empty if its first word is no file. */
async function hintAtArguments(
  path: string,
  { field = "spec.shellFile", user, files, signal }: PrepareScriptOptions,
): Promise<string> {
  const [first = "", ...rest] = path.split(/\s+/).filter(Boolean);
  if (rest.length === 0) return "";
  const label = `${field}: ${JSON.stringify(first)}`;
  const { kind } = await files.look(first, { user, label, signal });
  if (kind !== "file" && kind !== "unreadable") return "";
  const what = `; ${JSON.stringify(first)} is a file`;
  if (field === "spec.stopFile") {
    return `${what}, but a stop file gets no arguments: name a script that has them`;
  }
  return `${what}: name only that, and put the rest into spec.args: ${quote(rest)}`;
}

interface Whole {
  digest: string;
  head: Uint8Array;
  /** All of it, unless it is too long. */
  content?: Uint8Array;
}

/** Reads a file once: its digest, its first bytes and, if it has no more bytes than `most`, all of it. */
async function readWhole(
  path: string,
  label: string,
  most: number,
  { user, files }: Pick<PrepareScriptOptions, "user" | "files">,
): Promise<Whole> {
  const hash = createHash("sha256");
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
    ...(bytes <= most ? { content } : {}),
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
function unreadable(label: string, code: string, user: string, hint = ""): StartError {
  if (code === "ENOENT" || code === "ENOTDIR") {
    return new StartError("ScriptNotFound", `${label}: no such file on this node${hint}`);
  }
  const who = user ? ` by ${nameUser(user)}` : "";
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
