import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../temp-folder.ts";

/** Mounts a tmpfs with these options below the folder of a test, until the test ends; `disk` is undefined where that is not possible. */
export function mountTmpfs(
  t: { after(fn: () => void): void },
  options: string,
): { folder: string; disk?: string } {
  const { path: folder, remove } = tempFolder();
  const disk = join(folder, "disk");
  mkdirSync(disk);
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", disk]).status === 0;
  t.after(() => {
    if (mounted) spawnSync("umount", ["-l", disk]);
    remove();
  });
  return { folder, disk: mounted ? disk : undefined };
}
