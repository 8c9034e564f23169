/**
 * Checks that the agent's folders are writable and have free space. It runs in the background and keeps the result in memory:
 * a disk that hangs must not hang `/readyz`.
 */
import { access, constants, statfs } from "node:fs/promises";
import { errorCode } from "../../lib/files.ts";
import type { Check } from "../../server/view.ts";

export interface DiskCheck {
  /** Checks again, unless an earlier check still hangs. */
  refresh(): Promise<void>;
  result(): Check;
}

const neededBytes = 32 << 20;
const hangingMs = 60_000;

export function createDiskCheck(
  folders: string[],
  { now = Date.now }: { now?: () => number } = {},
): DiskCheck {
  let result = { ok: true, message: "not checked yet" };
  let since: number | undefined;
  return {
    async refresh() {
      if (since !== undefined) return;
      since = now();
      const found = await Promise.all(folders.map(checkFolder));
      since = undefined;
      result = found.find(({ ok }) => !ok) ??
        { ok: true, message: found.map(({ message }) => message).join(", ") };
    },
    result() {
      const hangs = since !== undefined && now() - since > hangingMs;
      const message = `no answer from the file system of ${folders.join(", ")} for a minute`;
      return { name: "disk", ...(hangs ? { ok: false, message } : result) };
    },
  };
}

async function checkFolder(folder: string): Promise<{ ok: boolean; message: string }> {
  try {
    await access(folder, constants.W_OK);
    const { bavail, bsize, files, ffree } = await statfs(folder);
    const free = bavail * bsize;
    // Some file systems, such as btrfs, do not count inodes.
    const ok = free >= neededBytes && (files === 0 || ffree > 0);
    return {
      ok,
      message: `${folder} has ${Math.floor(free / (1 << 20))} MiB free${
        files > 0 && ffree === 0 ? " and no inode" : ""
      }`,
    };
  } catch (error) {
    return { ok: false, message: `${folder} cannot be written to: ${errorCode(error)}` };
  }
}
