/**
 * Checks that the agent's folders are writable and have free space. It runs in the background and keeps the result in memory:
 * a disk that hangs must not hang `/readyz`.
 */
import { access, constants, statfs } from "node:fs/promises";
import { inQueue } from "../../lib/deadlines/deadlines.ts";
import { errorCode } from "../../lib/files.ts";
import type { Check } from "../../server/view.ts";

export interface DiskCheck {
  refresh(): Promise<void>;
  result(): Check;
}

const neededBytes = 32 << 20;

export function createDiskCheck(folders: string[]): DiskCheck {
  let result = { ok: true, message: "not checked yet" };
  return {
    async refresh() {
      const found = await Promise.all(folders.map(checkFolder));
      result = found.find(({ ok }) => !ok) ??
        { ok: true, message: found.map(({ message }) => message).join(", ") };
    },
    result: () => ({ name: "disk", ...result }),
  };
}

async function checkFolder(folder: string): Promise<{ ok: boolean; message: string }> {
  try {
    const { bavail, bsize, files, ffree } = await inQueue(folder, async () => {
      await access(folder, constants.W_OK);
      return await statfs(folder);
    });
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
