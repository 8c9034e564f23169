/**
 * Reads a file that users name, with the rights of a user, by a process of that user (`launcher read`). What the user may not read is not
 * read, whatever the path leads to by then; the bytes are those of one regular file, opened once.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { getSystemErrorName } from "node:util";
import { FileTimeoutError } from "../../lib/deadlines/deadlines.ts";
import { errorCode } from "../../lib/files.ts";

/** Enough for a large file on a slow disk. */
const readTimeoutMs = 60_000;

/** Passes the file to `onChunk`, piece by piece; throws unless it was all of it. `command` is that of `launcher read`. */
export async function readUserFile(
  [file = "", ...args]: string[],
  onChunk: (chunk: Uint8Array) => void,
  { label, timeoutMs = readTimeoutMs }: { label: string; timeoutMs?: number },
): Promise<void> {
  const child = spawn(file, args, { cwd: "/", env: {}, stdio: ["ignore", "pipe", "ignore"] });
  const exited = once(child, "exit");
  exited.catch(() => {});
  await once(child, "spawn").catch((cause) => {
    // Its code is about this program, not about the file.
    throw new Error(`${label}: cannot execute ${file}: ${errorCode(cause)}`, { cause });
  });
  // A process that even SIGKILL does not end must not hold up the caller.
  const timer = setTimeout(() => {
    child.kill("SIGKILL");
    child.stdout.destroy(new FileTimeoutError(label, timeoutMs));
  }, timeoutMs);
  try {
    for await (const chunk of child.stdout) onChunk(chunk);
    const [code, signal] = await exited;
    if (code === 0) return;
    const why = signal ?? getSystemErrorName(-code);
    throw Object.assign(new Error(`${label}: cannot be read: ${why}`), { code: why });
  } finally {
    clearTimeout(timer);
  }
}
