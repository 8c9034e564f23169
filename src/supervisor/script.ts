/**
 * From `shellFile` to a command: checks the file and decides how it is run, by its shebang or by `sh`.
 */
import { createHash } from "node:crypto";
import { constants, type FileHandle, open } from "node:fs/promises";
import { errorCode } from "../lib/files.ts";
import { StartError } from "./start-error.ts";

export interface Script {
  path: string;
  /** What to execute; the script's own arguments follow. */
  command: string[];
}

const shell = "/bin/sh";

/** Looks at a script on this node, and at its digest if one is asked for. */
export async function inspectScript(path: string, wantedSHA256?: string): Promise<Script> {
  await using file = await openScript(path);
  const info = await file.stat();
  if (info.isDirectory()) throw new StartError("InvalidScript", `spec.shellFile: ${quote(path)} is a folder`);
  if (!info.isFile()) {
    throw new StartError("InvalidScript", `spec.shellFile: ${quote(path)} is not a regular file`);
  }
  if (wantedSHA256) await checkDigest(file, path, wantedSHA256);
  const head = new Uint8Array(2);
  await file.read(head, 0, 2, 0);
  const hasShebang = head[0] === 0x23 && head[1] === 0x21;
  const isElf = head[0] === 0x7f && head[1] === 0x45;
  const executable = (info.mode & 0o111) !== 0;
  return { path, command: executable && (hasShebang || isElf) ? [path] : [shell, path] };
}

async function openScript(path: string): Promise<FileHandle> {
  try {
    // A FIFO would block an ordinary open for ever.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    const code = errorCode(cause);
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new StartError("ScriptNotFound", `spec.shellFile: ${quote(path)}: no such file on this node`, {
        cause,
      });
    }
    throw new StartError("ScriptUnreadable", `spec.shellFile: ${quote(path)}: cannot be read: ${code}`, {
      cause,
    });
  }
}

async function checkDigest(file: FileHandle, path: string, wanted: string): Promise<void> {
  const hash = createHash("sha256");
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false })) hash.update(chunk);
  const found = hash.digest("hex");
  if (found !== wanted.toLowerCase()) {
    throw new StartError(
      "DigestMismatch",
      `spec.shellFileSHA256: ${quote(path)} has the digest ${found}, not ${wanted}: it was not run`,
    );
  }
}

const quote = (text: string) => JSON.stringify(text);
